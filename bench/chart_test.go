// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sampleChart has a curve straight from corner to corner, one whose end is close to it,
// and one that ends early.
func sampleChart() chart {
	return chart{"Read <all> & more", axis{"chunks", counted}, axis{"time", timed}, []curve{
		{"varve", []mark{{100, 1e-3, 1e-3, 1e-3, 0}, {1000, 1e-2, 5e-3, 2e-2, 0}, {10_000, 1e-1, 1e-1, 1e-1, 0}}},
		{"zarrs", []mark{{100, 2e-3, 2e-3, 2e-3, 0}, {10_000, 9.8e-2, 9.8e-2, 9.8e-2, 0}}},
		{"some other one", []mark{{100, 5e-2, 5e-2, 5e-2, 0}}},
	}}
}

// element is the part of an SVG element that the tests read.
type element struct {
	XMLName xml.Name
	D       string    `xml:"d,attr"`
	X       float64   `xml:"x,attr"`
	Y       float64   `xml:"y,attr"`
	Fill    string    `xml:"fill,attr"`
	Stroke  string    `xml:"stroke,attr"`
	Anchor  string    `xml:"text-anchor,attr"`
	Text    string    `xml:",chardata"`
	Inside  []element `xml:",any"`
}

// TestSVG checks that a chart is a valid document, and the positions of marks.
func TestSVG(t *testing.T) {
	data := sampleChart().svg()
	var e element
	if err := xml.Unmarshal(data, &e); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	for d := xml.NewDecoder(strings.NewReader(string(data))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]element{}
	var words []string
	for _, x := range e.Inside {
		words = append(words, x.Text)
		if x.XMLName.Local == "g" {
			found[x.Inside[0].Text] = x
		}
	}
	for _, want := range []string{"Read <all> & more", "chunks", "time", "100", "1,000", "10,000", "1 ms", "10 ms", "100 ms", "varve", "zarrs", "some other one"} {
		if !slices.Contains(words, want) {
			t.Errorf("no %q among %q", want, words)
		}
	}
	l, r, middle := float64(left+inset), float64(right-inset), float64(left+right)/2
	want := fmt.Sprintf("M%.1f %.1fL%.1f %.1fL%.1f %.1f", l, float64(bottom), middle, float64(top+bottom)/2, r, float64(top))
	varve := found["varve"]
	if len(varve.Inside) != 4 || varve.Inside[2].D != want {
		t.Errorf("the curve of varve is %+v, want %s", varve.Inside, want)
	}
	half := math.Log10(2) / 2 * (bottom - top)
	center := float64(top+bottom) / 2
	if bar := fmt.Sprintf("M%.1f %.1fV%.1f", middle, center+half, center-half); varve.Inside[1].D != bar {
		t.Errorf("its spread is %s, want %s", varve.Inside[1].D, bar)
	}
	if zarrs := found["zarrs"]; len(zarrs.Inside) != 3 || zarrs.Inside[1].Stroke != pens["zarrs"].colour || zarrs.Inside[1].Stroke == varve.Inside[2].Stroke {
		t.Errorf("the curve of zarrs is %+v", zarrs.Inside)
	}
}

// TestWords checks that texts of a chart neither overlap nor leave it. It assumes the
// widths of letters in common fonts.
func TestWords(t *testing.T) {
	var e element
	if err := xml.Unmarshal(sampleChart().svg(), &e); err != nil {
		t.Fatal(err)
	}
	type box struct {
		text                     string
		left, right, top, bottom float64
	}
	var all []box
	for _, x := range e.Inside {
		if x.XMLName.Local != "text" {
			continue
		}
		wide := 7.2 * float64(len([]rune(x.Text)))
		b := box{x.Text, x.X, x.X + wide, x.Y - 11, x.Y + 3}
		switch x.Anchor {
		case "middle":
			b.left, b.right = x.X-wide/2, x.X+wide/2
		case "end":
			b.left, b.right = x.X-wide, x.X
		}
		if b.left < 0 || b.right > width || b.top < 0 || b.bottom > height {
			t.Errorf("%+v leaves the chart", b)
		}
		for _, o := range all {
			if b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom {
				t.Errorf("%+v and %+v overlap", b, o)
			}
		}
		all = append(all, b)
	}
}

func TestApart(t *testing.T) {
	for _, c := range []struct{ places, want []float64 }{
		{nil, nil},
		{[]float64{50}, []float64{50}},
		{[]float64{20, 40, 60}, []float64{20, 40, 60}},
		{[]float64{50, 50}, []float64{45, 55}},
		{[]float64{50, 52, 61}, []float64{44.3, 54.3, 64.3}},
		{[]float64{0, 1, 2}, []float64{0, 10, 20}},
		{[]float64{98, 99, 100}, []float64{80, 90, 100}},
		{[]float64{10, 95, 99}, []float64{10, 90, 100}},
	} {
		if got := apart(c.places, 10, 0, 100); !slices.Equal(got, c.want) {
			t.Errorf("apart(%v) = %v, want %v", c.places, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		places := make([]float64, 1+random.IntN(9))
		for i := range places {
			places[i] = 100 * random.Float64()
		}
		slices.Sort(places)
		got := apart(places, 10, 0, 100)
		for i := range got {
			if got[i] < 0 || got[i] > 100 || i > 0 && got[i]-got[i-1] < 9.89 {
				t.Fatalf("apart(%v) = %v", places, got)
			}
		}
	}
}

func TestPens(t *testing.T) {
	for _, c := range allCandidates("") {
		if _, ok := pens[c.name]; !ok {
			t.Errorf("%s has no pen", c.name)
		}
	}
	if p := penOf("nobody"); p.colour == "" || p.shape == "" {
		t.Errorf("a plain pen: %+v", p)
	}
}
