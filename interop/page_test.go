// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"varve.dev/zarr"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/serve/page"
)

// browser is the page in a tab of Chromium. Messages of the console and requests to other
// hosts are collected.
type browser struct {
	*testing.T
	ctx  context.Context
	host string // the address of the server
	base string // the address of the page

	sync.Mutex
	complaints []string
	isAllowed  func(text string) bool // complaints that the test expects, or nil
}

// served returns a server of a node with the page.
func served(t *testing.T, at *zarr.Location) *httptest.Server {
	t.Helper()
	p, err := page.New([]page.Node{{Name: "planet", Location: at}}, &page.Options{Program: "varve (test)"})
	check(t, err)
	h, err := serve.New([]serve.Node{{Name: "planet", Location: at}}, &serve.Options{Mount: map[string]http.Handler{"view": p}})
	check(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// browse starts Chromium.
func browse(t *testing.T, base string) *browser {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium: run interop/web/setup")
		}
		t.Skip("no Chromium, so the page is not opened; run interop/web/setup")
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("headless", "new"), chromedp.Flag("use-angle", "swiftshader"), chromedp.Flag("enable-unsafe-swiftshader", true),
		chromedp.Flag("hide-scrollbars", false), chromedp.Flag("disable-background-networking", true))
	ctx, stop := chromedp.NewContext(allocator)
	b := &browser{T: t, host: base + "/", base: base + "/@view/"}
	t.Cleanup(func() {
		stop()
		cancel()
	})
	b.ctx = ctx
	// The first action starts the browser, whose events can be listened to then.
	check(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	check(t, chromedp.Listen(ctx, b.hear))
	for _, enable := range []func(context.Context, *chromedp.Target) error{
		func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
			return err
		},
		func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
			return err
		},
	} {
		do(b, chromedp.Func(enable))
	}
	do(b, chromedp.EmulateViewport(1280, 800))
	return b
}

// hear collects what the page complains about.
func (b *browser) hear(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type != "error" && e.Type != "warning" {
			return
		}
		text, _ := json.Marshal(e.Args) // it is only shown
		complaint = "console: " + string(text)
	case *runtime.EventExceptionThrown:
		text, _ := json.Marshal(e.ExceptionDetails)
		complaint = "exception: " + string(text)
	case *log.EventEntryAdded:
		complaint = "log: " + e.Entry.Text + " " + e.Entry.URL
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.host) && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") && u != "about:blank" {
			complaint = "a request to another host: " + u
		}
	}
	b.Lock()
	defer b.Unlock()
	if complaint != "" && (b.isAllowed == nil || !b.isAllowed(complaint)) {
		b.complaints = append(b.complaints, complaint)
	}
}

// silent fails if the page has complained.
func (b *browser) silent() {
	b.Helper()
	b.Lock()
	defer b.Unlock()
	for _, c := range b.complaints {
		b.Error(c)
	}
	b.complaints = nil
}

func do[T any](b *browser, a chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserLimit)
	defer cancel()
	out, err := chromedp.Run(ctx, a)
	check(b.T, err)
	return out
}

// eval returns the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	return do(b, chromedp.Evaluate[T](expression))
}

// until waits until an expression is true in the page.
func (b *browser) until(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserLimit)
	defer cancel()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && is {
			return
		}
		if ctx.Err() != nil {
			if dir := os.Getenv("VARVE_SCREENSHOTS"); dir != "" {
				b.shoot(filepath.Join(dir, "failed.png"))
			}
			b.Fatalf("%s does not become true; the page says %.2000q", expression, eval[string](b, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// open shows a view: the hash of its address without the leading #/planet.
func (b *browser) open(view string) {
	b.Helper()
	do(b, chromedp.Navigate("about:blank"))
	do(b, chromedp.Navigate(b.base+"#/planet"+view))
}

// settled waits until the picture is whole.
func (b *browser) settled() {
	b.Helper()
	b.until(`document.querySelector('.stage')?.dataset.settled === 'true' && !document.querySelector('.loading')`)
}

// rest waits until nothing is under way that a picture would show, 10 s at most.
func (b *browser) rest() {
	b.Helper()
	for range 100 {
		time.Sleep(100 * time.Millisecond)
		if eval[bool](b, `!!document.querySelector('main h1, main .empty') && !document.querySelector('.loading, .waiting') && [...document.querySelectorAll('.plot')].every((p) => p.querySelector('canvas')) && !/(^|\n)(…|loading …|planning …)/.test(document.body.innerText)`) {
			time.Sleep(300 * time.Millisecond)
			return
		}
	}
}

func (b *browser) shoot(file string) {
	b.Helper()
	check(b.T, os.WriteFile(file, do(b, chromedp.CaptureScreenshot()), 0o666))
}

// theme makes the browser prefer light or dark colours.
func theme(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
}

// TestPageScreenshots writes pictures of the states of the page to the folder
// VARVE_SCREENSHOTS, for people to look at.
func TestPageScreenshots(t *testing.T) {
	dir := os.Getenv("VARVE_SCREENSHOTS")
	if dir == "" {
		t.Skip("VARVE_SCREENSHOTS names no folder")
	}
	b := browse(t, served(t, pageNodes(t)).URL)
	views := map[string]string{
		"group": "", "picture": "/t2m?at=40", "borders": "/t2m?at=40&borders=1&pin=30,60", "heat": "/t2m?at=40&heat=bytes", "missing": "/sst?at=10", "gap": "/sst?at=95",
		"months": "/sst?y=0&x=2&at=0,36,0&borders=1&heat=stored", "numbers": "/t2m?box=10:22,20:40", "side": "/t2m?second=planet/skt&beside=side", "difference": "/t2m?second=planet/skt&beside=difference",
		"shards": "/shards?borders=1", "image": "/image", "flags": "/landuse", "mask": "/mask", "complex": "/wave?part=phase", "diverging": "/deviation?map=RdBu", "line": "/seconds",
		"times": "/t2m?show=line&at=0,30,60", "text": "/names", "structs": "/stations", "value": "/answer", "chunks": "/t2m?show=chunks&plan=regularize", "gaps": "/sst?show=chunks",
		"empty": "/empty", "huge": "/huge", "nothing": "/nothing", "damaged": "/damaged", "codec": "/foreign", "hostile": "/" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "absent": "/nobody",
	}
	only := os.Getenv("VARVE_SCREENS")
	for name, view := range views {
		if only != "" && !strings.Contains(","+only+",", ","+name+",") {
			continue
		}
		for _, size := range [][2]int64{{1280, 800}, {390, 844}, {2560, 1440}} {
			if s := os.Getenv("VARVE_SIZE"); s != "" && s != fmt.Sprint(size[0]) {
				continue
			}
			for _, dark := range []bool{false, true} {
				if s := os.Getenv("VARVE_THEME"); s != "" && (s == "dark") != dark {
					continue
				}
				do(b, chromedp.EmulateViewport(size[0], size[1]))
				scheme := map[bool]string{false: "light", true: "dark"}[dark]
				do(b, theme(scheme))
				b.open(view)
				b.rest()
				b.shoot(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, size[0], scheme)))
			}
		}
	}
	t.Log(b.complaints)
}
