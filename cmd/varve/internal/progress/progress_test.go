// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/observe"
)

// TestLine draws lines for short work, long work, and work that reports nothing for a
// while.
func TestLine(t *testing.T) {
	newOne := func() *Line {
		p := &Line{task: "reading", text: phrase.Bytes}
		p.measure = p.done.Load
		p.total.Store(4 << 20)
		return p
	}
	short, long := new(sharedText), new(sharedText)
	p := newOne()
	p.drawOn(short, time.Hour, time.Hour)
	p.Add(1 << 20)
	p.End()
	if got := short.String(); got != "" {
		t.Errorf("short work has a bar: %q", got)
	}
	p = newOne()
	p.Add(2 << 20)
	p.drawOn(long, 0, time.Millisecond)
	for !strings.Contains(long.String(), "2.0 MiB of 4.0 MiB") {
		time.Sleep(time.Millisecond) // the goroutine draws, though nothing is added
	}
	p.End()
	if got := long.String(); !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line stays: %q", got)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		what        string
		done, total int64
		text        func(int64) string
		want        string
	}{
		{"reading", 2 << 20, 4 << 20, phrase.Bytes, "reading " + strings.Repeat("█", 15) + strings.Repeat("░", 15) + " 2.0 MiB of 4.0 MiB  205 KiB/s  0:10 left\x1b[K"},
		{"shards", 1200, 4000, phrase.Count, "1,200 of 4,000  120/s  0:23 left\x1b[K"},
		{"copying", 10 << 20, 0, phrase.Bytes, "copying 10 MiB  1.0 MiB/s\x1b[K"},
		{"writing", 0, 4 << 20, phrase.Bytes, " 0 B of 4.0 MiB  0 B/s\x1b[K"},
	} {
		p := &Line{task: c.what, text: c.text}
		p.total.Store(c.total)
		p.measure = func() int64 { return c.done }
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

func TestTerminals(t *testing.T) {
	c := new(cobra.Command)
	c.SetErr(new(bytes.Buffer))
	c.SetContext(t.Context())
	p := New(c, "reading", 1)
	if p.Add(1); p.w != nil {
		t.Error("a bar that nobody sees")
	}
	session.Watch(c)
	p = NewEstimate(c, "copying", 1, MovedBytes)
	if p.End(); p.w != nil || session.ObserverOf(c.Context()) != observe.Observer(nil) {
		t.Error("an estimate that nobody sees")
	}
}

// sharedText is a buffer for a goroutine that draws.
type sharedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sharedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sharedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
