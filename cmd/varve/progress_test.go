package main

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/observe"
)

// shared is a buffer for a goroutine that draws.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestProgress draws lines for work that is short, that lasts and that says nothing meanwhile.
func TestProgress(t *testing.T) {
	newOne := func() *progress {
		p := &progress{what: "reading", text: byteCount}
		p.look = p.done.Load
		p.total.Store(4 << 20)
		return p
	}
	short, long := new(shared), new(shared)
	p := newOne()
	p.drawOn(short, time.Hour, time.Hour)
	p.add(1 << 20)
	p.end()
	if got := short.String(); got != "" {
		t.Errorf("short work has a bar: %q", got)
	}
	p = newOne()
	p.add(2 << 20)
	p.drawOn(long, 0, time.Millisecond)
	for !strings.Contains(long.String(), "2.0 MiB of 4.0 MiB") {
		time.Sleep(time.Millisecond) // the goroutine draws, though nothing is added
	}
	p.end()
	if got := long.String(); !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line stays: %q", got)
	}
}

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		what        string
		done, total int64
		text        func(int64) string
		want        string
	}{
		{"reading", 2 << 20, 4 << 20, byteCount, "reading " + strings.Repeat("█", 15) + strings.Repeat("░", 15) + " 2.0 MiB of 4.0 MiB  205 KiB/s  0:10 left\x1b[K"},
		{"shards", 1200, 4000, count, "1,200 of 4,000  120/s  0:23 left\x1b[K"},
		{"copying", 10 << 20, 0, byteCount, "copying 10 MiB  1.0 MiB/s\x1b[K"},
		{"writing", 0, 4 << 20, byteCount, " 0 B of 4.0 MiB  0 B/s\x1b[K"},
	} {
		p := &progress{what: c.what, text: c.text}
		p.total.Store(c.total)
		p.look = func() int64 { return c.done }
		if got := p.line(10 * time.Second); !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for seconds, want := range map[float64]string{0: "0:00", 67.4: "1:07", 3600: "1:00:00", 1e9: "long"} {
		if got := clock(seconds); got != want {
			t.Errorf("%v seconds are %s, want %s", seconds, got, want)
		}
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	c := newCatCommand()
	c.SetErr(new(bytes.Buffer))
	c.SetContext(t.Context())
	p := newProgress(c, "reading", 1)
	if p.add(1); p.w != nil {
		t.Error("a bar that nobody sees")
	}
	watched(c)
	p = newEstimate(c, "copying", 1, movedBytes)
	if p.end(); p.w != nil || observerOf(c.Context()) != observe.Observer(nil) {
		t.Error("an estimate that nobody sees")
	}
}

// slowly is a stream of two bytes, the second of which comes once the first one was shown.
type slowly struct {
	shown *shared
	read  int
}

func (s *slowly) Read(b []byte) (int, error) {
	switch s.read++; s.read {
	case 1:
		return copy(b, "x"), nil
	case 2:
		for !strings.Contains(s.shown.String(), "reading 1 B") && !strings.Contains(s.shown.String(), " 1 B of 2 B") {
			time.Sleep(time.Millisecond)
		}
		return copy(b, "y"), nil
	}
	return 0, io.EOF
}

// TestProgressOfStreams shows what comes in from a pipe, whether its length is known or not.
func TestProgressOfStreams(t *testing.T) {
	for _, n := range []int64{-1, 2} {
		shown := new(shared)
		v := &values{r: &slowly{shown: shown}, name: "x"}
		v.watch = func(total int64) *progress {
			p := &progress{what: "reading", text: byteCount}
			p.look = p.done.Load
			p.total.Store(total)
			p.drawOn(shown, 0, time.Millisecond)
			return p
		}
		if copied, err := v.putAside(n); copied != 2 || err != nil {
			t.Errorf("%d bytes, %v", copied, err)
		}
	}
}
