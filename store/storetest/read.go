// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/store"
)

func checkBasic(p *probe) {
	for name, value := range Fixture() {
		p.holds(name, value)
		ok, err := store.Exists(p.ctx, p.s, store.MustKey(name))
		p.is(err, nil, "Exists %q", name)
		if !ok {
			p.errorf("Exists %q: false, want true", name)
		}
	}
}

// checkMissing asks for directories, for names below values, and for similar names.
func checkMissing(p *probe) {
	for _, name := range []string{"a", "a/c", "a/c/0", "ab/x", "zarr.json/zarr.json", "b", "A/b/x", "deep/1/2/3/5"} {
		p.absent(name)
	}
}

// longKey has 400 bytes, the digits 0 to 9 repeated.
const longKey = "a/c/0/0"

func checkRanges(p *probe) {
	value := Fixture()[longKey]
	for _, c := range []struct {
		r        store.Range
		from, to int
	}{
		{store.Whole(), 0, 400},
		{store.Span(0, 0), 0, 0}, {store.Span(0, 10), 0, 10}, {store.Span(7, 20), 7, 27},
		{store.Span(0, 400), 0, 400}, {store.Span(399, 1), 399, 400}, {store.Span(400, 0), 400, 400},
		{store.From(0), 0, 400}, {store.From(395), 395, 400}, {store.From(400), 400, 400},
		{store.Suffix(0), 400, 400}, {store.Suffix(16), 384, 400}, {store.Suffix(400), 0, 400}, {store.Suffix(1 << 40), 0, 400},
	} {
		got, info, err := p.s.Get(p.ctx, store.MustKey(longKey), store.Request{Range: c.r}, nil)
		p.is(err, nil, "%s", c.r)
		if err == nil && (!bytes.Equal(got, value[c.from:c.to]) || info.Size != 400) {
			p.errorf("%s: %s of size %d, want bytes %d to %d of 400", c.r, brief(got), info.Size, c.from, c.to)
		}
	}
	p.badRanges()
	p.limits()
}

func (p *probe) badRanges() {
	for _, r := range []store.Range{
		store.Span(0, 401), store.Span(400, 1), store.Span(401, 0), store.From(401), store.Span(1, 1<<62), store.From(1 << 62),
	} {
		got, _, err := p.s.Get(p.ctx, store.MustKey(longKey), store.Request{Range: r}, nil)
		p.is(err, io.ErrUnexpectedEOF, "%s", r)
		if got != nil {
			p.errorf("%s: bytes along with an error", r)
		}
	}
	for _, r := range []store.Range{store.Span(-1, 1), store.Span(0, -1), store.From(-1), store.Suffix(-1)} {
		if _, _, err := p.s.Get(p.ctx, store.MustKey(longKey), store.Request{Range: r}, nil); err == nil {
			p.errorf("%s: no error", r)
		}
	}
}

func (p *probe) limits() {
	for _, c := range []struct {
		q    store.Request
		want error
	}{
		{store.Request{Limit: 400}, nil},
		{store.Request{Limit: 399}, store.ErrTooLarge},
		{store.Request{Range: store.Span(5, 10), Limit: 10}, nil},
		{store.Request{Range: store.Span(5, 11), Limit: 10}, store.ErrTooLarge},
		{store.Request{Range: store.Suffix(400), Limit: 1}, store.ErrTooLarge},
	} {
		_, _, err := p.s.Get(p.ctx, store.MustKey(longKey), c.q, nil)
		p.is(err, c.want, "%s with limit %d", c.q.Range, c.q.Limit)
	}
}

// checkAppend checks that Get keeps the content of dst, writes no byte beyond what it
// returns, and allocates only when it must.
func checkAppend(p *probe) {
	value := Fixture()[longKey]
	for _, room := range []int{0, 100, 399, 400, 401, 1000} {
		// The pattern shows which bytes Get writes.
		buf := bytes.Repeat([]byte{0xEE}, 3+room)
		got, _, err := p.s.Get(p.ctx, store.MustKey(longKey), store.Request{}, append(buf[:0], "abc"...))
		switch {
		case err != nil:
			p.errorf("Get with room for %d: %w", room, err)
			continue
		case string(got) != "abc"+string(value):
			p.errorf("Get with room for %d: %s", room, brief(got))
		case room >= 400 && &got[0] != &buf[0]:
			p.errorf("Get with room for %d: allocated", room)
		case room >= 400 && bytes.Count(buf[403:], []byte{0xEE}) != room-400:
			p.errorf("Get with room for %d: wrote beyond the result", room)
		}
	}
}

func checkOpen(p *probe) {
	o, err := store.Open(p.ctx, p.s, store.MustKey(longKey))
	if err != nil {
		p.errorf("Open: %w", err)
		return
	}
	if o.Info().Size != 400 {
		p.errorf("Open: size is %d, want 400", o.Info().Size)
	}
	got, err := o.Read(p.ctx, store.Request{Range: store.Span(3, 5)}, []byte("x"))
	p.is(err, nil, "Read")
	if string(got) != "x34567" {
		p.errorf("Read: %q, want %q", got, "x34567")
	}
	_, err = o.Read(p.ctx, store.Request{Range: store.Span(399, 2)}, nil)
	p.is(err, io.ErrUnexpectedEOF, "Read past the end")
	_, err = o.Read(p.ctx, store.Request{Limit: 3}, nil)
	p.is(err, store.ErrTooLarge, "Read beyond the limit")
	p.is(o.Close(), nil, "Close")
	_, err = store.Open(p.ctx, p.s, store.MustKey("none"))
	p.is(err, fs.ErrNotExist, "Open of nothing")
}

func checkStat(p *probe) {
	for name, value := range Fixture() {
		info, err := store.Stat(p.ctx, p.s, store.MustKey(name))
		p.is(err, nil, "Stat %q", name)
		_, again, err := p.get(name)
		if err == nil && (!info.Same(again) || !near(info.Modified, again.Modified) || info.Size != int64(len(value))) {
			p.errorf("Stat %q: %v, want %v as Get says", name, info, again)
		}
	}
	_, err := store.Stat(p.ctx, p.s, store.MustKey("a/c"))
	p.is(err, fs.ErrNotExist, "Stat of a directory")
}

func checkList(p *probe) {
	_, ok := store.As[store.Lister](p.s)
	for _, err := range store.List(p.ctx, p.s, store.Path{}, store.Flat) {
		if p.lacks(ok, err, "List") {
			return
		}
	}
	for dir, want := range map[string]string{
		"":      "a/ a.b/ ab deep/ space in/ zarr.json",
		"a":     "b c/ zarr.json",
		"a/c":   "0/ 1/",
		"a/c/0": "0 1",
		"none":  "",
		"ab":    "",
		"de":    "",
	} {
		// The wanted names are separated by spaces.
		p.lists(dir, store.Flat, strings.Fields(strings.ReplaceAll(want, "space in", "space_in")))
	}
	p.lists("", store.Deep, slices.Collect(maps.Keys(Fixture())))
	p.lists("a", store.Deep, []string{"b", "zarr.json", "c/0/0", "c/0/1", "c/1/0"})
	p.lists("deep", store.Deep, []string{"1/2/3/4"})
	p.lists("none", store.Deep, nil)
	for range store.List(p.ctx, p.s, store.Path{}, store.Deep) {
		break // the caller may stop early
	}
}

// lists checks a listing. The names of directories end in a slash.
func (p *probe) lists(dir string, how store.Listing, want []string) {
	path, err := store.ParsePath(dir)
	p.is(err, nil, "ParsePath %q", dir)
	var got []string
	for e, err := range store.List(p.ctx, p.s, path, how) {
		p.is(err, nil, "List %q", dir)
		if e.Dir {
			e.Name += "/"
		} else if size, known := sizeOf(path, e.Name); known && e.Size != -1 && e.Size != size {
			p.errorf("List %q: %s has size %d, want %d", dir, e.Name, e.Size, size)
		}
		if how == store.Flat {
			e.Name = strings.ReplaceAll(e.Name, "space in", "space_in")
		}
		got = append(got, e.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.errorf("List %q (%d): %q, want %q", dir, how, got, want)
	}
}

// sizeOf returns the size of a value of [Fixture].
func sizeOf(dir store.Path, name string) (int64, bool) {
	value, ok := Fixture()[dir.MustKey(name).String()]
	return int64(len(value)), ok
}

func checkCancelledRead(p *probe) {
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	key := store.MustKey(longKey)
	_, _, err := p.s.Get(ctx, key, store.Request{}, nil)
	p.is(err, context.Canceled, "Get")
	_, err = store.Stat(ctx, p.s, key)
	p.is(err, context.Canceled, "Stat")
	_, err = store.Open(ctx, p.s, key)
	p.is(err, context.Canceled, "Open")
	for _, err := range store.List(ctx, p.s, store.Path{}, store.Deep) {
		if !errors.Is(err, store.ErrUnsupported) {
			p.is(err, context.Canceled, "List")
		}
	}
}

func checkConcurrentRead(p *probe) {
	want := Fixture()[longKey]
	var wrong [8]error
	var wg sync.WaitGroup
	for i := range wrong {
		wg.Go(func() {
			var buf []byte
			for range 50 {
				var err error
				buf, _, err = p.s.Get(p.ctx, store.MustKey(longKey), store.Request{}, buf[:0])
				if err == nil && !bytes.Equal(buf, want) {
					err = errors.New("wrong bytes")
				}
				if err != nil {
					wrong[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	p.is(errors.Join(wrong[:]...), nil, "eight readers")
}
