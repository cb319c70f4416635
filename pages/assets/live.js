// The live page: new figures appear without a reload, and runs can be filtered and sorted.
(function () {
  'use strict';
  var live = document.getElementById('live'), tools = document.getElementById('tools'), filter, sort;

  function number(e, key) { var v = parseFloat(e.dataset[key]); return isNaN(v) ? -1e9 : v; }
  var orders = {
    'by name': function (a, b) { return a.dataset.name < b.dataset.name ? -1 : 1; },
    'best kNN first': function (a, b) { return number(b, 'knn') - number(a, 'knn'); },
    'lowest loss first': function (a, b) { return number(b, 'minusloss') - number(a, 'minusloss'); },
    'training first': function (a, b) { return (b.dataset.state === 'training') - (a.dataset.state === 'training'); }
  };
  function arrange() {
    var list = live.querySelector('.runs');
    if (!list || !filter) return;
    var runs = Array.prototype.slice.call(list.children), words = filter.value.toLowerCase();
    if (sort.value !== 'by name') runs.sort(orders[sort.value]).forEach(function (r) { list.appendChild(r); });
    runs.forEach(function (r) { r.hidden = r.textContent.toLowerCase().indexOf(words) < 0; });
  }
  function remember() {
    try { sessionStorage.setItem('runs', JSON.stringify([filter.value, sort.value])); } catch (e) { /* private window */ }
  }
  if (tools) {
    filter = document.createElement('input');
    filter.type = 'search';
    filter.placeholder = 'filter';
    filter.setAttribute('aria-label', 'filter runs by name, state or verdict');
    sort = document.createElement('select');
    sort.setAttribute('aria-label', 'order of the runs');
    Object.keys(orders).forEach(function (o) { sort.add(new Option(o)); });
    tools.append(filter, sort);
    try {
      var kept = JSON.parse(sessionStorage.getItem('runs') || '["","by name"]');
      filter.value = kept[0];
      sort.value = kept[1];
    } catch (e) { /* private window */ }
    filter.addEventListener('input', function () { arrange(); remember(); });
    // A new order of names needs the server's list, which the next figures bring.
    sort.addEventListener('change', function () {
      var list = live.querySelector('.runs');
      if (list) Array.prototype.slice.call(list.children).sort(orders[sort.value]).forEach(function (r) { list.appendChild(r); });
      remember();
    });
    arrange();
  }
  // Rows of sweeps that the reader has opened stay open when new figures replace them.
  function opened() {
    return Array.prototype.map.call(live.querySelectorAll('details[open]'), function (d) { return d.parentNode.dataset.name; });
  }
  function open(names) {
    live.querySelectorAll('.sweep').forEach(function (r) {
      if (names.indexOf(r.dataset.name) >= 0) r.querySelector('details').open = true;
    });
  }
  // The element that has the focus, as the name of its row and its number there.
  function focused() {
    var e = live.contains(document.activeElement) && document.activeElement, row = e && (e.closest('[data-name]') || live);
    return e && { name: row.dataset.name, at: Array.prototype.indexOf.call(row.querySelectorAll(stops), e) };
  }
  function focus(f) {
    if (!f) return;
    Array.prototype.forEach.call(f.name === undefined ? [live] : live.querySelectorAll('[data-name]'), function (r) {
      var e = r.dataset.name === f.name && r.querySelectorAll(stops)[f.at];
      if (e) e.focus({ preventScroll: true });
    });
  }
  var stops = 'a, button, summary', source = new EventSource(live.dataset.events), waiting = null, pressed = false;
  // A button that is replaced between press and release is not clicked, so figures wait until then.
  function show() {
    if (pressed || waiting === null) return;
    var names = opened(), f = focused();
    live.innerHTML = waiting;
    waiting = null;
    open(names);
    live.dataset.updates = 1 + (+live.dataset.updates || 0);
    arrange();
    focus(f);
  }
  function press(e) { pressed = pressed || !e.button; }
  function release() { pressed = false; setTimeout(show, 0); }
  ['pointerdown', 'keydown'].forEach(function (e) { addEventListener(e, press); });
  ['pointerup', 'pointercancel', 'keyup', 'blur'].forEach(function (e) { addEventListener(e, release); });
  source.onmessage = function (e) {
    waiting = e.data;
    show();
  };
})();
