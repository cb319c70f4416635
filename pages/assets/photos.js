// Pages of photos: a filter, some photos at a time, and arrow keys.  Without script all photos are shown.
(function () {
  'use strict';
  var MOST = 120, words = [], page = 0, shown = [];
  function all(selector, e) { return Array.prototype.slice.call((e || document).querySelectorAll(selector)); }
  function make(name, text, label) {
    var e = document.createElement(name);
    e.textContent = text;
    if (label) e.setAttribute('aria-label', label);
    return e;
  }

  // What is shown or hidden as a whole: a group of copies, or a photo of another section.
  var sections = all('main section'), units = [];
  sections.forEach(function (s) {
    var heading = s.querySelector('h2'), said = heading ? heading.textContent : '';
    (s.classList.contains('card') ? [s] : all('.thumbs > span', s)).forEach(function (u) {
      var text = said + ' ' + all('.t', u).map(function (t) { return t.title; }).join(' ');
      units.push({e: u, section: s, text: text.toLowerCase(), photos: all('.t', u)});
    });
  });
  if (units.length < 13) return;

  var tools = make('div', ''), filter = make('input', '', 'filter photos by path, caption or heading');
  var back = make('button', '\u2190', 'previous photos'), on = make('button', '\u2192', 'next photos'), say = make('span', '');
  tools.id = 'photo-tools';
  tools.className = 'tools';
  filter.type = 'search';
  filter.placeholder = 'filter (press /)';
  say.setAttribute('role', 'status');
  tools.append(filter, back, on, say);
  var home = document.querySelector('.cards') || sections[0];
  home.parentNode.insertBefore(tools, home);

  function fits(u) { return words.every(function (w) { return u.text.indexOf(w) >= 0; }); }
  function count(n) { return n + (units[0].e === units[0].section ? ' group' : ' photo') + (n === 1 ? '' : 's'); }
  function arrange(everything) {
    var found = units.filter(fits), pages = Math.max(1, Math.ceil(found.length / MOST));
    page = Math.max(0, Math.min(page, pages - 1));
    shown = everything ? units : found.slice(page * MOST, (page + 1) * MOST);
    units.forEach(function (u) { u.e.hidden = true; });
    sections.forEach(function (s) { s.hidden = true; });
    shown.forEach(function (u) { u.e.hidden = u.section.hidden = false; });
    back.hidden = on.hidden = pages === 1;
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
    say.textContent = !found.length ? 'nothing fits' : pages === 1 ? (words.length ? count(found.length) : '')
      : page * MOST + 1 + ' to ' + (page * MOST + shown.length) + ' of ' + count(found.length);
    all('.t[tabindex]').forEach(function (t) { t.removeAttribute('tabindex'); });
    if (shown.length) shown[0].photos[0].tabIndex = 0;
  }
  function turn(by) {
    page += by;
    arrange();
    scrollTo({top: home.getBoundingClientRect().top + scrollY - tools.offsetHeight - 8});
  }
  filter.addEventListener('input', function () {
    words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    page = 0;
    arrange();
  });
  back.addEventListener('click', function () { turn(-1); });
  on.addEventListener('click', function () { turn(1); });

  // ---- keys
  function photos() { return [].concat.apply([], shown.map(function (u) { return u.photos; })); }
  function focus(t) {
    all('.t[tabindex]').forEach(function (o) { o.tabIndex = -1; });
    t.tabIndex = 0;
    t.focus();
  }
  // The photo above or below: of the nearest row in that direction, the one that is least aside.
  function beside(list, t, down) {
    var from = t.getBoundingClientRect(), best = null, least = 1e9;
    list.forEach(function (o) {
      var r = o.getBoundingClientRect(), along = (r.top - from.top) * (down ? 1 : -1);
      var d = 10 * along + Math.abs(r.left - from.left);
      if (along > 1 && d < least) { least = d; best = o; }
    });
    return best;
  }
  function move(t, key) {
    var list = photos(), i = list.indexOf(t), to = key === 'Home' ? list[0] : key === 'End' ? list[list.length - 1] : null;
    if (key === 'ArrowUp' || key === 'ArrowDown') to = beside(list, t, key === 'ArrowDown');
    if (key === 'ArrowLeft') to = list[i - 1];
    if (key === 'ArrowRight') to = list[i + 1];
    if (to) return focus(to);
    if (key === 'ArrowRight' || key === 'PageDown') { if (!on.disabled && !on.hidden) { turn(1); focus(photos()[0]); } }
    if (key === 'ArrowLeft' || key === 'PageUp') { if (!back.disabled && !back.hidden) { turn(-1); focus(photos().pop()); } }
  }
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === '/' && e.target !== filter) { e.preventDefault(); filter.focus(); }
    if (e.key === 'Escape' && e.target === filter && filter.value) {
      filter.value = '';
      filter.dispatchEvent(new Event('input'));
    }
    if (e.target.tabIndex !== 0 || !e.target.classList.contains('t')) return;
    if (!/^(Arrow(Left|Right|Up|Down)|Home|End|Page(Up|Down))$/.test(e.key)) return;
    e.preventDefault();
    move(e.target, e.key);
  });

  // ---- paper: all photos are printed
  addEventListener('beforeprint', function () { arrange(true); });
  addEventListener('afterprint', function () { arrange(); });
  arrange();
})();
