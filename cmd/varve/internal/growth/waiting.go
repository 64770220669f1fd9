// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// Waiting has the late planes of all sources of a command, which are inserted at its end.
type Waiting struct {
	by        string
	on        On
	direction float64 // of the labels

	labels element.Values
	planes []waiting
	at     map[string]int // index in planes by label
	open   []*Gain
}

// waiting is a late plane: one of each array that grows.
type waiting struct {
	gains  []*Gain
	plane  int64
	label  string // for people
	source string
}

// NewWaiting returns a list without planes.
func NewWaiting(by string, on On) *Waiting {
	return &Waiting{by: by, on: on, at: map[string]int{}}
}

// Len returns the number of planes.
func (w *Waiting) Len() int { return len(w.planes) }

// Labels returns the labels of the planes.
func (w *Waiting) Labels() element.Values { return w.labels }

// Direction returns the direction of the labels.
func (w *Waiting) Direction() float64 { return w.direction }

// Place finds the cells of the planes of a source with new labels. It is an error that a
// plane waits already, if that is how duplicates are treated.
func (w *Waiting) Place(l *Labels, more element.Values, source string) (Placing, error) {
	p, err := l.Place(more, source, w.direction)
	if err != nil || w.on != Refuse {
		return p, err
	}
	for _, j := range p.Late {
		elem := more.At(int(j.Plane))
		if i, waits := w.at[l.key(elem)]; waits {
			return p, &Duplicates{fmt.Sprintf("--by %s: %s of %s is in %s, too: %s", l.name, l.text(elem), source, w.planes[i].source, onDuplicate)}
		}
	}
	return p, nil
}

// Add adds the late planes of a source, which has one gain for each array. They stay open
// until Close. It returns how many were there already.
func (w *Waiting) Add(l *Labels, p Placing, more element.Values, source string, gains []*Gain) (c Counts) {
	if len(p.Late) == 0 {
		return c
	}
	w.labels.Type, w.direction = more.Type, p.direction
	w.open = append(w.open, gains...)
	for _, j := range p.Late {
		elem := more.At(int(j.Plane))
		one := waiting{gains: gains, plane: j.Plane, label: l.text(elem), source: source}
		switch i, waits := w.at[l.key(elem)]; {
		case !waits:
			w.at[l.key(elem)] = len(w.planes)
			w.planes = append(w.planes, one)
			w.labels.Data = append(w.labels.Data, elem...)
		case w.on == Replace:
			w.planes[i] = one
			c.Replaced++
		default:
			c.Skipped++
		}
	}
	return c
}

// Holds reports whether a gain has late planes, so that it must stay open.
func (w *Waiting) Holds(g *Gain) bool { return w != nil && slices.Contains(w.open, g) }

// Close closes the gains.
func (w *Waiting) Close() (err error) {
	if w != nil {
		for _, g := range w.open {
			err = errors.Join(err, g.Close())
		}
		w.open = nil
	}
	return err
}

// Gain returns the planes of the array with index i, which has the given shape.
func (w *Waiting) Gain(i int, shape []int64, axis int) *Gain {
	var gains []*Gain
	for start := 0; start < len(w.planes); {
		from := w.planes[start].gains[i]
		var planes []int64
		for ; start < len(w.planes) && w.planes[start].gains[i] == from; start++ {
			planes = append(planes, w.planes[start].plane)
		}
		gains = append(gains, from.Only(planes, shape, axis))
	}
	return Joined(gains, shape, axis)
}

// Source names the sources of the planes.
func (w *Waiting) Source() string {
	text, n := w.planes[0].source, int64(0)
	seen := map[string]bool{text: true}
	for _, p := range w.planes {
		if !seen[p.source] {
			seen[p.source] = true
			n++
		}
	}
	if n > 0 {
		text += " and " + phrase.Plural(n, "more file")
	}
	return text
}

// Names returns the labels of some of the planes for people.
func (w *Waiting) Names(late []Late) (names []string) {
	for _, j := range late {
		names = append(names, w.planes[j.Plane].label)
	}
	return names
}
