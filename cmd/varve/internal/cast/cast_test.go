// SPDX-License-Identifier: Apache-2.0

package cast

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	s := Session{Title: "a & b", Columns: 40, Marks: []string{"new"}, Steps: []Step{
		{"tool run <x>", "one\n  two new lines\n"}, {"tool stop", ""},
	}}
	svg := s.SVG()
	for _, want := range []string{"a &amp; b", "tool run &lt;x&gt;", `class="line mark"`, ">  two"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing has no %q:\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, `class="line `); n != 4 {
		t.Errorf("%d lines", n)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
	}
}
