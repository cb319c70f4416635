// Style, script and building blocks of HTML pages.
#include "pages/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#222;--pale:#767676;--paper:#fff;--line:#ddd;--mark:#f4f4f4}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--pale:#999;--paper:#161616;--line:#3a3a3a;"
    "--mark:#242424}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.45 "
    "system-ui,sans-serif;overflow-wrap:break-word}\n"
    "main{max-width:1560px;margin:0 auto;padding:12px 16px 60px}h1{font-size:1.4em;margin:.4em "
    "0}h2{font-size:1.15em;"
    "margin:1.6em 0 .5em;border-bottom:1px solid var(--line)}h3{font-size:1em;margin:.8em 0 .3em}\n"
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));gap:"
    "14px}figure{margin:0;min-width:0}\n"
    "figcaption{font-weight:600;font-size:.92em}svg{width:100%;height:auto;display:block}svg "
    "text{fill:var(--pale);"
    "font:11px "
    "system-ui,sans-serif}.axis{stroke:var(--line);fill:none}.curve{fill:none;stroke-width:1.6}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:2px "
    "9px;text-align:right;border-bottom:"
    "1px solid var(--line)}td:first-child,th:first-child{text-align:left}.wide{overflow-x:auto}\n"
    "pre,code{font:13px/1.4 ui-monospace,monospace}pre{background:var(--mark);padding:8px "
    "10px;overflow-x:auto;margin:.4em 0}\n"
    ".pale{color:var(--pale)}.bad{color:#c62828}.ok{color:#2e7d32}.key{display:flex;flex-wrap:wrap;"
    "gap:2px 12px;font-size:.85em}\n"
    ".key i{display:inline-block;width:10px;height:10px;margin-right:4px}ul{margin:.3em "
    "0;padding-left:1.2em}"
    "details{margin:.4em 0}summary{cursor:pointer}\n"
    ".thumbs{display:flex;flex-wrap:wrap;gap:3px;align-items:flex-end}.t{display:inline-block;"
    "background-repeat:no-repeat;"
    "image-rendering:auto}.t.first{outline:2px solid "
    "var(--ink);margin-right:6px}.t.wrong{outline:2px solid #c62828}\n"
    ".row{display:flex;flex-wrap:wrap;gap:4px 18px;align-items:center;margin:4px "
    "0}#tip{position:fixed;pointer-events:none;"
    "background:var(--paper);border:1px solid var(--line);padding:4px "
    "6px;font-size:12px;display:none;z-index:9}\n"
    ".num{font-variant-numeric:tabular-nums}.cell{stroke:var(--paper)}.bar{background:var(--line);"
    "height:8px;width:120px;"
    "display:inline-block}.bar b{display:block;height:8px;background:#1f77b4}\n";

// Script for hovering only: everything it shows is also in the page, as <title> or in a table.
static const char script[] =
    "(function(){var "
    "tip=document.createElement('div');tip.id='tip';document.body.appendChild(tip);\n"
    "function put(e){tip.style.display='block';var w=tip.offsetWidth,h=tip.offsetHeight;"
    "tip.style.left=Math.max(0,Math.min(e.clientX+14,innerWidth-w-4))+'px';"
    "tip.style.top=Math.max(0,Math.min(e.clientY+14,innerHeight-h-4))+'px';}\n"
    "function near(s,x){var b=null,d=1e9;s.querySelectorAll('path.curve').forEach(function(p){"
    "(p.getAttribute('d').match(/[-0-9.]+ [-0-9.]+/g)||[]).forEach(function(q){var v=q.split(' ');"
    "if(Math.abs(v[0]-x)<d){d=Math.abs(v[0]-x);b=+v[0];}});});return b;}\n"
    "document.querySelectorAll('svg.chart').forEach(function(s){var c=JSON.parse(s.dataset.c);"
    "s.addEventListener('mousemove',function(e){var "
    "r=s.getBoundingClientRect(),x=(e.clientX-r.left)/r.width*c.w;"
    "var at=near(s,x);if(at===null)return;var u=c.x0+(at-c.l)/(c.r-c.l)*(c.x1-c.x0);"
    "tip.textContent='';var n=document.createElement('div');n.textContent=c.n+' "
    "'+(+u.toPrecision(6));tip.appendChild(n);"
    "s.querySelectorAll('path.curve').forEach(function(p){var y=null;"
    "(p.getAttribute('d').match(/[-0-9.]+ [-0-9.]+/g)||[]).forEach(function(q){var v=q.split(' ');"
    "if(Math.abs(v[0]-at)<.6)y=+v[1];});if(y===null)return;var f=(c.b-y)/(c.b-c.t);"
    "var v=c.log?Math.pow(10,c.y0+f*(c.y1-c.y0)):c.y0+f*(c.y1-c.y0);"
    "var l=document.createElement('div');l.textContent=p.dataset.n+': "
    "'+(+v.toPrecision(4))+c.u;l.style.color=p.getAttribute('stroke');"
    "tip.appendChild(l);});put(e);});s.addEventListener('mouseleave',function(){tip.style.display='"
    "none';});});\n"
    "document.querySelectorAll('circle[data-t]').forEach(function(p){p.addEventListener('"
    "mouseenter',function(e){"
    "tip.textContent='';var t=document.createElement('span');t.className='t "
    "'+p.dataset.t;tip.appendChild(t);"
    "var "
    "l=document.createElement('div');l.textContent=p.querySelector('title').textContent;tip."
    "appendChild(l);put(e);});"
    "p.addEventListener('mouseleave',function(){tip.style.display='none';});});})();\n";

void sr_html_begin(const char *title, SrText *out) {
    sr_text_add(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<link rel=\"icon\" href=\"data:,\"><title>");
    sr_html_escape(title, out);
    sr_text_add(out, "</title>\n<style>\n");
    sr_text_add(out, style);
    sr_text_add(out, "</style></head>\n<body><main>\n");
}

void sr_html_end(SrText *out) {
    sr_text_add(out, "</main>\n<script>\n");
    sr_text_add(out, script);
    sr_text_add(out, "</script></body></html>\n");
}

void sr_html_escape(const char *s, SrText *out) {
    for (; *s; s++) {
        const char *as = *s == '&'    ? "&amp;"
                         : *s == '<'  ? "&lt;"
                         : *s == '>'  ? "&gt;"
                         : *s == '"'  ? "&quot;"
                         : *s == '\'' ? "&#39;"
                                      : NULL;
        if (as)
            sr_text_add(out, as);
        else
            sr_text_addn(out, s, 1);
    }
}

void sr_html_text(SrText *out, const char *fmt, ...) {
    char line[4096];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_html_escape(line, out);
}

void sr_html_base64(const void *bytes, size_t n, SrText *out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned v = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) |
                     (left > 2 ? b[i + 2] : 0);
        char four[4] = {letters[v >> 18], letters[v >> 12 & 63],
                        left > 1 ? letters[v >> 6 & 63] : '=', left > 2 ? letters[v & 63] : '='};
        sr_text_addn(out, four, 4);
    }
}

// The first ten colours are a well-known set that most people can tell apart.  Further ones walk
// around the circle of hues by the golden angle.
const char *sr_html_color(int i, int n, char out[8]) {
    static const char *const ten[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd",
                                      "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};
    if (i < 0 || n <= 10) {
        snprintf(out, 8, "%s", i < 0 ? "#888888" : ten[i % 10]);
        return out;
    }
    double hue = fmod(i * 137.50776, 360) / 60, light = 0.42 + 0.16 * (i % 3) / 2;
    double chroma = 0.65 * (1 - fabs(2 * light - 1)), low = light - chroma / 2;
    int rgb[3];
    for (int c = 0; c < 3; c++) {
        double h = fmod(hue + (c == 0   ? 0
                               : c == 1 ? 4
                                        : 2),
                        6); // the channels lie a third of the circle apart
        double share = h < 1 || h >= 5 ? 1 : h < 2 ? 2 - h : h >= 4 ? h - 4 : 0;
        rgb[c] = (int)(255 * (low + chroma * share) + 0.5);
    }
    snprintf(out, 8, "#%02x%02x%02x", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255,
             (unsigned)rgb[2] & 255);
    return out;
}
