// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// terminal is a terminal in memory.
type terminal struct{ bytes.Buffer }

func (*terminal) IsTerminal() bool { return true }

// TestConsole checks that text and lines of progress do not mix.
func TestConsole(t *testing.T) {
	var out, errs terminal
	s := Shared(Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	c := Of(s.Err)
	older := c.NewBar()
	_, _ = older.Write([]byte("\rolder"))
	newer := c.NewBar()
	_, _ = older.Write([]byte("\rnothing"))
	_, _ = newer.Write([]byte("\rnewer"))
	_, _ = io.WriteString(s.Out, "text\n")
	_, _ = io.WriteString(s.Err, "question? ")
	_, _ = newer.Write([]byte("\rnothing"))
	c.Answered()
	newer.End()
	_, _ = older.Write([]byte("\rolder"))
	_, _ = older.Write([]byte(Wiped))
	older.End()
	_, _ = io.WriteString(s.Err, "end\n")
	if got, want := errs.String(), "\rolder\rnewer"+Wiped+"question? \rolder"+Wiped+"end\n"; got != want || out.String() != "text\n" {
		t.Errorf("shown are %q and %q, want %q", got, out.String(), want)
	}
	if piped := Shared(Streams{In: nil, Out: &out, Err: new(bytes.Buffer)}); Of(piped.Out) != nil || Of(piped.Err) != nil {
		t.Error("what nobody looks at became a console")
	}
}
