package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var w bytes.Buffer
	p := &progress{w: &w, what: "reading", total: 4 << 20, text: byteCount, next: time.Now().Add(time.Hour)}
	p.add(1 << 20)
	p.end()
	if w.Len() > 0 {
		t.Errorf("short work has a bar: %q", w.String())
	}
	p.next = time.Time{}
	p.add(1 << 20)
	p.end()
	if got := w.String(); !strings.Contains(got, "reading "+strings.Repeat("█", 15)+strings.Repeat("░", 15)+" 2.0 MiB of 4.0 MiB") {
		t.Errorf("%q", got)
	}
	p = &progress{what: "shards", done: 1200, total: 4000, text: count}
	if got := p.bar(); !strings.Contains(got, "░ 1,200 of 4,000") {
		t.Errorf("%q", got)
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	c := newCatCommand()
	c.SetErr(new(bytes.Buffer))
	p := newProgress(c, "reading", 1)
	if p.add(1); p.w != nil || p.drawn {
		t.Error("a bar that nobody sees")
	}
}
