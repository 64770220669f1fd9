// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// TestBounds stores manifests that could not be read again. They are refused, with what
// to do, and nothing is stored.
func TestBounds(t *testing.T) {
	racing.Skip(t) // nothing is shared in what is refused
	long := strings.Repeat("x", mostLocation)
	axis, err := grid.NewAxis(1<<29, grid.Every(1))
	if err != nil {
		t.Fatal(err)
	}
	line, err := grid.New([]int64{1 << 29}, grid.Chunks(1)...)
	if err != nil {
		t.Fatal(err)
	}
	groups := []Group{{"", &metadata.Group{Attributes: []byte("{}")}}}
	for i := range 70 {
		text := fmt.Sprintf(`{"text": "%s"}`, strings.Repeat("x", 1<<20))
		groups = append(groups, Group{fmt.Sprint(i), &metadata.Group{Attributes: []byte(text)}})
	}
	for name, c := range map[string]struct {
		store func(s memtest.Store) error
		want  string
	}{
		"a location": {func(s memtest.Store) error {
			m := &Manifest{Groups: groups[:1], Sources: []Source{{Location: "../" + long}}}
			return m.Create(t.Context(), s, mustPath(t, "m.vz"))
		}, "shorter names"},
		"a version": {func(s memtest.Store) error {
			m := &Manifest{Groups: groups[:1], Sources: []Source{{Location: "../f", Version: long + "x"}}}
			return m.Create(t.Context(), s, mustPath(t, "m.vz"))
		}, "the version of ../f"},
		"the document": {func(s memtest.Store) error {
			return (&Manifest{Groups: groups}).Create(t.Context(), s, mustPath(t, "m.vz"))
		}, "several manifests"},
		"a file to add": {func(memtest.Store) error {
			j, err := NewJoined(Join{})
			if err != nil {
				t.Fatal(err)
			}
			return j.Add(t.Context(), &Part{Name: "f", Manifest: &Manifest{Sources: []Source{{Location: "../" + long}}}})
		}, "shorter names"},
		"a file to scan": {func(s memtest.Store) error {
			j, err := NewJoined(Join{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := NewCollector("/m.vz")
			if err != nil {
				t.Fatal(err)
			}
			return c.Collect(t.Context(), j, []string{"s3://none/first", "s3://none/" + long})
		}, "shorter names"},
		"chunks": {func(memtest.Store) error {
			n := &joined{Array: &Array{Grid: line, Document: &metadata.Array{}}, along: 0, axes: []grid.Axis{axis, axis, axis}}
			return n.finish()
		}, "longer chunks"},
		"values":              {func(memtest.Store) error { return checkValues(mostValues + 1) }, "bytes of values"},
		"a file for kerchunk": {func(memtest.Store) error { return checkKerchunk(mostKerchunk + 1) }, "make a manifest"},
		"sources":             {func(memtest.Store) error { return checkSources(make([]Source, 1), mostNumbers) }, "sources"},
	} {
		s := memtest.New()
		if err := c.store(s); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v, want %s", name, err, c.want)
		}
		for e := range s.List(t.Context(), mustPath(t, ""), store.Deep) {
			t.Errorf("%s: %s is stored", name, e.Name)
		}
	}
}

// TestLongLocations stores sources whose locations fill several blocks.
func TestLongLocations(t *testing.T) {
	s, m := memtest.New(), &Manifest{Groups: []Group{{"", &metadata.Group{Attributes: []byte("{}")}}}}
	const n = 9000
	for i := range n {
		m.Sources = append(m.Sources, Source{Location: fmt.Sprintf("%04d/%s", i, strings.Repeat("x", mostLocation-5)), Size: 1})
	}
	path := mustPath(t, "m.vz")
	if err := m.Create(t.Context(), s, path); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.sourceBlocks) < 3 || again.count() != n {
		t.Errorf("%d sources in %d blocks", again.count(), len(again.sourceBlocks))
	}
	for _, i := range []uint32{1, n / 2, n} {
		if got, err := again.source(t.Context(), i); err != nil || got != m.Sources[i-1] {
			t.Errorf("source %d: %.20s (%v)", i, got.Location, err)
		}
	}
}
