// Pictures and numbers under the pointer, and the map by keyboard.  All that is shown here is also in the page: as a
// title, as text or in a table.
(function () {
  'use strict';
  var tip = document.createElement('div');
  tip.id = 'tip';
  tip.setAttribute('role', 'status');
  document.body.appendChild(tip);

  function place(x, y) {
    tip.style.display = 'block';
    var w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(4, x + 16 + w > innerWidth ? x - w - 16 : x + 16) + 'px';
    tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - h - 4)) + 'px';
  }
  function hide() { tip.style.display = 'none'; }
  function line(text, color) {
    var l = document.createElement('div');
    l.textContent = text;
    if (color) l.style.color = color;
    tip.appendChild(l);
  }

  // ---- pictures
  // The browser's own tip would cover the picture, so the title becomes a label.
  function words(e) {
    if (e.title) {
      e.dataset.title = e.title;
      if (e.getAttribute('role')) e.setAttribute('aria-label', e.title);
      e.removeAttribute('title');
    }
    if (!e.dataset.title && e.dataset.s) { // a second map leaves the words to the first
      var same = document.querySelector('.map .' + e.dataset.s + ',.map [title][data-s=' + e.dataset.s + ']');
      return same ? words(same) : '';
    }
    return e.dataset.title || '';
  }
  function show(e, x, y) {
    tip.textContent = '';
    var sprite = e.dataset.s || (e.className.match(/\bs\d+\b/) || [''])[0];
    if (sprite) {
      var t = document.createElement('span');
      t.className = 't ' + sprite;
      tip.appendChild(t);
    }
    words(e).split('\n').forEach(function (l) { line(l); });
    place(x, y);
  }
  function pointed(e) { return e.target.closest && e.target.closest('.t[title],.t[data-title],.map > *'); }
  document.addEventListener('pointermove', function (e) {
    var t = pointed(e);
    if (t && !tip.contains(t)) show(t, e.clientX, e.clientY);
    else if (!e.target.closest || !e.target.closest('svg.chart')) hide();
  });
  // A picture that was reached by keyboard keeps its words, also when the page scrolls towards it.
  function focused() {
    var t = document.querySelector('.t:focus-visible'), r = t && t.getBoundingClientRect();
    if (t) show(t, r.left + r.width / 2, r.bottom);
    else hide();
  }
  document.addEventListener('click', function (e) { // of a finger, which has no pointer above the picture
    var t = pointed(e);
    if (t) show(t, e.clientX, e.clientY);
  });
  document.addEventListener('focusin', focused);
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', focused, true);
  document.addEventListener('keydown', function (e) { if (e.key === 'Escape') hide(); });

  // ---- the map
  // Arrow keys go to the nearest point in their direction.
  function center(e) { var r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }
  function step(map, dx, dy) {
    var at = map.querySelector('.at'), from = at ? center(at) : [-1e4, -1e4], best = null, least = 1e9;
    Array.prototype.forEach.call(map.children, function (p) {
      var c = center(p), x = c[0] - from[0], y = c[1] - from[1], along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (p === at || (at && along < 1)) return;
      var d = at ? along + 2 * aside : x + y;
      if (d < least) { least = d; best = p; }
    });
    if (!best) return;
    if (at) at.classList.remove('at');
    best.classList.add('at');
    var c = center(best);
    show(best, c[0], c[1]);
  }
  var keys = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  document.querySelectorAll('.map').forEach(function (map) {
    map.addEventListener('keydown', function (e) {
      if (!keys[e.key]) return;
      e.preventDefault();
      step(map, keys[e.key][0], keys[e.key][1]);
    });
    map.addEventListener('blur', function () {
      map.querySelectorAll('.at').forEach(function (p) { p.classList.remove('at'); });
      hide();
    });
  });
  // A class of the legend under the pointer, focused or pressed: the others fade.
  function fade(button, on) {
    var map = button.closest('.with-key').querySelector('.map');
    map.classList.toggle('faded', on);
    map.querySelectorAll('.on').forEach(function (p) { p.classList.remove('on'); });
    if (on) map.querySelectorAll('.' + button.dataset.c).forEach(function (p) { p.classList.add('on'); });
  }
  document.querySelectorAll('.key button').forEach(function (b) {
    ['pointerenter', 'focus'].forEach(function (n) { b.addEventListener(n, function () { fade(b, true); }); });
    ['pointerleave', 'blur'].forEach(function (n) { b.addEventListener(n, function () { fade(b, false); }); });
  });

  // ---- charts
  function points(path) {
    return (path.getAttribute('d').match(/[-0-9.]+ [-0-9.]+/g) || []).map(function (q) { return q.split(' ').map(Number); });
  }
  function at(svg, c, e) {
    var r = svg.getBoundingClientRect(), x = (e.clientX - r.left) / r.width * c.w, best = null, least = 1e9;
    var curves = Array.prototype.slice.call(svg.querySelectorAll('path.curve'));
    curves.forEach(function (p) {
      points(p).forEach(function (q) { if (Math.abs(q[0] - x) < least) { least = Math.abs(q[0] - x); best = q[0]; } });
    });
    if (best === null) return;
    tip.textContent = '';
    line(c.n + ' ' + +(c.x0 + (best - c.l) / (c.r - c.l) * (c.x1 - c.x0)).toPrecision(6));
    curves.forEach(function (p) {
      var q = points(p).filter(function (q) { return Math.abs(q[0] - best) < .6; })[0];
      if (!q) return;
      var y = c.y0 + (c.b - q[1]) / (c.b - c.t) * (c.y1 - c.y0);
      line(p.dataset.n + ': ' + +(c.log ? Math.pow(10, y) : y).toPrecision(4) + c.u, p.getAttribute('stroke'));
    });
    place(e.clientX, e.clientY);
  }
  document.addEventListener('pointermove', function (e) {
    var svg = e.target.closest && e.target.closest('svg.chart');
    if (svg) at(svg, JSON.parse(svg.dataset.c), e);
  });

  // ---- paper: folded parts are printed too
  var opened = [];
  addEventListener('beforeprint', function () {
    document.querySelectorAll('details:not([open])').forEach(function (d) { d.open = true; opened.push(d); });
  });
  addEventListener('afterprint', function () { opened.splice(0).forEach(function (d) { d.open = false; }); });
})();
