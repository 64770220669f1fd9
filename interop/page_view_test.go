// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"fmt"
	picture "image"
	"image/png"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// middle is JavaScript for the place on the screen of element (y, x) of a plane of ny by
// nx elements that is shown as a whole, with square pixels.
func middle(y, x float64, ny, nx int) string {
	return fmt.Sprintf(`(() => {
		const r = document.querySelector('.glass').getBoundingClientRect();
		const b = Math.min(r.height / %[3]d, r.width / %[4]d);
		return [r.left + (r.width - b * %[4]d) / 2 + b * (%[2]g + 0.5), r.top + (r.height - b * %[3]d) / 2 + b * (%[1]g + 0.5)];
	})()`, y, x, ny, nx)
}

// point moves the pointer to an element, and returns the text that the page shows for it.
func (b *browser) point(index string, y, x float64, ny, nx int) string {
	b.Helper()
	// A legend that comes late moves the picture, so the pointer follows it.
	for range 100 {
		at := eval[[]float64](b, middle(y, x, ny, nx))
		do(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
		time.Sleep(100 * time.Millisecond)
		if eval[bool](b, fmt.Sprintf(`document.querySelector('.readout')?.dataset.index === %q`, index)) {
			break
		}
	}
	b.until(fmt.Sprintf(`document.querySelector('.readout')?.dataset.index === %q`, index))
	return eval[string](b, `document.querySelector('.readout .value').dataset.text`)
}

// TestPageValues compares what the page shows under the pointer with the elements.
func TestPageValues(t *testing.T) {
	b := browse(t, served(t, pageNodes(t)).URL)
	for _, c := range []struct {
		view, index string
		y, x        float64
		ny, nx      int
		want        any
	}{
		{"/t2m?at=40", "40,30,60", 30, 60, 72, 144, warmth(40, 30, 60)},
		{"/t2m?at=365", "365,71,143", 71, 143, 72, 144, warmth(365, 71, 143)},
		{"/t2m?y=0&x=2&at=0,36,0&stretch=0", "200,36,7", 200, 7, 366, 144, warmth(200, 36, 7)},
		{"/landuse", "5,200", 5, 200, 120, 240, nil},
		{"/mask", "30,40", 30, 40, 60, 80, "true"},
		{"/mask", "0,0", 0, 0, 60, 80, "false"},
		{"/deviation", "39,49", 39, 49, 40, 50, float32(39*50 + 49 - 1000)},
		{"/image?at=0,0,2", "100,250,2", 100, 250, 200, 300, float32(250 * 3 / 2 % 256)},
		{"/shards", "500,600", 500, 600, 1000, 1200, float32(50000)},
		{"/sst?at=10", "10,0,70", 0, 70, 72, 144, nil},
		{"/damaged", "5,50", 5, 50, 40, 60, float32(50)},
	} {
		b.open(c.view)
		b.settled()
		text := b.point(c.index, c.y, c.x, c.ny, c.nx)
		switch want := c.want.(type) {
		case string:
			if text != want {
				t.Errorf("%s [%s]: %q, want %q", c.view, c.index, text, want)
			}
		case float32:
			if !sameNumber(text, want) {
				t.Errorf("%s [%s]: %q, want %v", c.view, c.index, text, want)
			}
		}
	}
	b.silent()
}

// sameNumber reports whether a text is a float32.
func sameNumber(text string, want float32) bool {
	got, err := strconv.ParseFloat(text, 32)
	return err == nil && float32(got) == want
}

// drawn returns the picture of the page, one pixel for each element.
func (b *browser) drawn(ny, nx int) *picture.RGBA {
	b.Helper()
	list := eval[[]int](b, fmt.Sprintf(`(() => {
		const c = document.querySelector('canvas.picture'), d = document.createElement('canvas');
		d.width = c.width; d.height = c.height;
		const g = d.getContext('2d'), out = [];
		g.drawImage(c, 0, 0);
		const p = g.getImageData(0, 0, c.width, c.height).data, b = Math.min(c.height / %[1]d, c.width / %[2]d);
		for (let y = 0; y < %[1]d; y++) for (let x = 0; x < %[2]d; x++) {
			const i = 4 * (Math.floor((c.height - b * %[1]d) / 2 + b * (y + 0.5)) * c.width + Math.floor((c.width - b * %[2]d) / 2 + b * (x + 0.5)));
			out.push(p[i], p[i + 1], p[i + 2], p[i + 3]);
		}
		return out;
	})()`, ny, nx))
	pixels := make([]uint8, len(list))
	for i, v := range list {
		pixels[i] = uint8(v)
	}
	return &picture.RGBA{Pix: pixels, Stride: 4 * nx, Rect: picture.Rect(0, 0, nx, ny)}
}

// TestPageColours compares the picture with the one that package serve makes of the same
// elements, with WebGL2 and without it.
func TestPageColours(t *testing.T) {
	s := served(t, pageNodes(t))
	b := browse(t, s.URL)
	r, err := http.Get(s.URL + "/@values/planet/t2m?select=40&format=png&range=230,300")
	check(t, err)
	defer r.Body.Close()
	want, err := png.Decode(r.Body)
	check(t, err)
	base := b.base
	var pictures []*picture.RGBA
	for _, kind := range []string{"webgl2", "canvas"} {
		b.base = base
		if kind == "canvas" {
			b.base += "?canvas=1"
		}
		b.open("/t2m?at=40&range=230:300&stretch=0")
		b.settled()
		if got := eval[string](b, `document.querySelector('.stage').dataset.paints`); got != kind {
			t.Fatalf("painted by %s, want %s", got, kind)
		}
		got := b.drawn(72, 144)
		for y := range 72 {
			for x := range 144 {
				r, g, bl, _ := want.At(x, y).RGBA()
				p := got.RGBAAt(x, y)
				// The colours of package serve are interpolated between ten of the map's.
				if far(p.R, r) || far(p.G, g) || far(p.B, bl) || p.A != 255 {
					t.Fatalf("%s: the pixel (%d, %d) is %v, want about %v", kind, y, x, p, want.At(x, y))
				}
			}
		}
		pictures = append(pictures, got)
	}
	different := 0
	for i, v := range pictures[0].Pix {
		if math.Abs(float64(v)-float64(pictures[1].Pix[i])) > 4 { // neighbours in the map, where rounding differs
			different++
		}
	}
	if different > 0 {
		t.Errorf("%d bytes of the two pictures differ", different)
	}
	// What is no plain value looks alike in both, and unlike all else.
	for _, view := range []string{"/sst?at=10&stretch=0", "/sst?at=95&stretch=0", "/damaged"} {
		var two [2]*picture.RGBA
		for i, suffix := range []string{"", "?canvas=1"} {
			b.base = base + suffix
			b.open(view)
			b.settled()
			two[i] = b.drawn(40, 60)
		}
		if view != "/damaged" && !bytes.Equal(two[0].Pix[:400], two[1].Pix[:400]) {
			t.Errorf("%s: the patterns differ", view)
		}
	}
	b.silent()
}

func far(got uint8, want uint32) bool { return math.Abs(float64(got)-float64(want>>8)) > 14 }

// wheel turns the wheel of the mouse at a place.
func wheel(x, y, by float64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: x, Y: y, DeltaX: 0.01, DeltaY: by})
		return err
	})
}

// TestPageLinks moves a picture by mouse and keyboard, and finds the view in the address;
// an address restores the view.
func TestPageLinks(t *testing.T) {
	b := browse(t, served(t, pageNodes(t)).URL)
	b.open("/t2m")
	b.settled()
	at := eval[[]float64](b, middle(36, 72, 72, 144))
	do(b, wheel(at[0], at[1], -400))
	b.until(`/[?&]box=/.test(location.hash)`)
	before := eval[string](b, `location.hash`)
	do(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft))
	do(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]-60, at[1]-30, chromedp.ButtonLeft))
	do(b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0]-60, at[1]-30, chromedp.ButtonLeft))
	b.until(fmt.Sprintf(`location.hash !== %q`, before))
	eval[bool](b, `document.querySelector('.glass').focus(), true`)
	do(b, chromedp.KeyEvent("0"))
	b.until(`!/[?&]box=/.test(location.hash)`)
	do(b, chromedp.KeyEvent("]"))
	b.until(`/[?&]at=1,/.test(location.hash)`)
	do(b, chromedp.KeyEvent("b"))
	b.until(`/[?&]borders=1/.test(location.hash)`)
	// By the keyboard alone: a search, a node, and back.
	do(b, chromedp.KeyEvent("/"))
	b.until(`document.activeElement.id === 'search'`)
	eval[string](b, `document.activeElement.value = ''`) // the key also writes a slash here, though the page prevents it
	do(b, chromedp.KeyEvent("landu"))
	b.until(`document.querySelectorAll('.tree .row').length === 1`)
	do(b, chromedp.KeyEvent(kb.ArrowDown))
	b.until(`document.activeElement.classList.contains('rows')`)
	do(b, chromedp.KeyEvent(kb.Home))
	do(b, chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash.startsWith('#/planet/landuse') && document.querySelector('h1')?.textContent === 'Land use'`)
	eval[bool](b, `history.back(), true`)
	b.until(`location.hash.startsWith('#/planet/t2m') && document.querySelector('h1')?.textContent === 'Air temperature at 2 m'`)

	b.open("/t2m?y=0&x=2&at=0,20,0&box=31:91,10:60&map=inferno&range=240:300&log=1&borders=1&heat=bytes&pin=40,30&second=planet/skt")
	b.settled()
	b.until(`document.querySelector('.profile .uplot')`)
	for expression, want := range map[string]string{
		`document.querySelector('[aria-label="Vertical axis"]').selectedOptions[0].textContent`:   "time",
		`document.querySelector('[aria-label="Horizontal axis"]').selectedOptions[0].textContent`: "lon",
		`document.querySelector('.slider input').value`:                                           "20",
		`document.querySelector('.slider output b').textContent`:                                  "38.75 °N",
		`[...document.querySelectorAll('.bar .end')].map((e) => e.value).join()`:                  "240,300",
		`[...document.querySelectorAll('.check input')].map((e) => e.checked).join()`:             "false,true,false,true",
		`document.querySelector('[aria-label="Second array"]').value`:                             "planet/skt",
	} {
		if got := eval[string](b, expression); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
	if hash := eval[string](b, `location.hash`); !strings.Contains(hash, "box=31:91,10:60") {
		t.Errorf("the address is now %s", hash)
	}
	b.silent()
}

// TestPageHostile shows names, attributes, units and texts that are scripts in HTML.
func TestPageHostile(t *testing.T) {
	b := browse(t, served(t, pageNodes(t)).URL)
	for _, view := range []string{"/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E?pin=3,4", "/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E?show=chunks", "/names", ""} {
		b.open(view)
		b.rest()
		if is := eval[bool](b, `'hacked' in window || !!document.querySelector('img, iframe, object, #page script, #page style, [onerror], [onload]')`); is {
			t.Errorf("%s: the page took text for HTML", view)
		}
		if view != "" && !eval[bool](b, `document.body.innerText.includes('<img src=x onerror="window.hacked=1">')`) {
			t.Errorf("%s: the text is not shown as it is", view)
		}
	}
	b.silent()
}

// TestPageGrowth appends to an array that is shown.
func TestPageGrowth(t *testing.T) {
	root := zarr.At(memstore.New(), "")
	_, err := root.CreateGroup(t.Context(), nil, nil)
	check(t, err)
	a := filled(t, made(t, root, "rain", zarr.Spec{Shape: []int64{10, 8, 9}, Type: dtype.Float32, Chunks: grid.Chunks(2, 8, 9), DimensionNames: []string{"time", "y", "x"}}), func(i int) float32 { return float32(i) })
	s := served(t, root)
	b := browse(t, s.URL)
	b.open("/rain?at=9")
	b.settled()
	more := make([]float32, 2*8*9)
	for i := range more {
		more[i] = float32(1000 + i)
	}
	check(t, zarr.Append(t.Context(), a, 0, more, nil))
	b.until(`document.querySelector('.banner')?.textContent.includes('grew by 2 along time: was 10, now 12')`)
	// Who looked at the last element looks at the new last one.
	b.until(`/[?&]at=11,/.test(location.hash)`)
	b.settled()
	if text := b.point("11,2,3", 2, 3, 8, 9); !sameNumber(text, 1000+72+2*9+3) {
		t.Errorf("the newest element is %q", text)
	}
	b.silent()
	// The server goes: the picture stays, and the page says so.
	b.isAllowed = func(text string) bool {
		return strings.Contains(text, "ERR_CONNECTION") || strings.Contains(text, "ERR_INCOMPLETE") || strings.Contains(text, "ERR_EMPTY_RESPONSE")
	}
	s.CloseClientConnections()
	s.Listener.Close()
	s.CloseClientConnections()
	b.until(`document.querySelector('.banner.bad')?.textContent.includes('does not answer')`)
	b.silent()
}

// TestPageFaces opens what cannot be shown as a picture, and finds what the page says.
func TestPageFaces(t *testing.T) {
	b := browse(t, served(t, pageNodes(t)).URL)
	b.isAllowed = func(text string) bool { return strings.Contains(text, "/@view/api/") } // refusals are logged by the browser
	for view, want := range map[string]string{
		"/empty":           "This group is empty",
		"/nothing":         "no elements: time has length 0",
		"/foreign":         "rot13",
		"/nobody":          "Choose another node",
		"/answer":          "42.5",
		"/names":           "Jungfraujoch",
		"/stations":        "JFJ",
		"/damaged":         "c/1/1",
		"/huge":            "chunk not stored",
		"/sst?at=95":       "chunk not stored",
		"/sst?at=10":       "NaN",
		"/landuse":         "forest",
		"/sst?show=chunks": "2024-04-01 to 2024-04-30",
		"/t2m?show=chunks": "rectilinear: chunks of unequal lengths",
	} {
		b.open(view)
		b.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, want))
	}
	b.silent()
}

// TestPageAccess looks for what axe-core finds serious, in both themes.
func TestPageAccess(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(cache(), "page", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not installed, so access is not checked; run interop/page/setup")
	}
	b := browse(t, served(t, pageNodes(t)).URL)
	b.isAllowed = func(text string) bool { return strings.Contains(text, "/@view/api/") }
	for scheme, views := range map[string][]string{
		"light": {"", "/sst?at=10&pin=30,60&borders=1", "/t2m?second=planet/skt&beside=side", "/seconds", "/landuse", "/sst?show=chunks&plan=regularize"},
		"dark":  {"/sst?at=10&pin=30,60&borders=1", "/stations", "/foreign", "/empty"},
	} {
		do(b, theme(scheme))
		for _, view := range views {
			b.open(view)
			b.rest()
			eval[bool](b, string(script)+";true")
			eval[bool](b, `axe.run(document, {resultTypes: ['violations']}).then((r) => { window.found = r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => v.id + ': ' + v.help + ': ' + v.nodes.map((n) => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? '')).join(' | ')) }), true`)
			b.until(`'found' in window`)
			for _, v := range eval[[]string](b, `window.found`) {
				t.Errorf("%s, %s: %s", view, scheme, v)
			}
		}
	}
	b.silent()
}
