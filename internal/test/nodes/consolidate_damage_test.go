// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// withArray returns a store with an array of six numbers.
func withArray(t *testing.T, format int) (memtest.Store, *zarr.Location) {
	t.Helper()
	s := memtest.New()
	h, spec := zarr.At(s, ""), fixture.Every(6, 4)
	if format == 2 {
		spec = fixture.AsV2(spec)
	}
	a, err := h.At("good").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

// readGood walks over a group and reads its array "good". It returns the paths of all
// members and the errors of the walk.
func readGood(t *testing.T, g *zarr.Group) (paths []string, errs []error) {
	t.Helper()
	for m, err := range g.Members(t.Context(), true) {
		if err = errors.Join(err, m.Err); err != nil {
			errs = append(errs, err)
			continue
		}
		paths = append(paths, m.Path)
		if m.Path != "good" {
			continue
		}
		b, err := zarr.Read[int32](t.Context(), m.Node.(*zarr.Array), nil)
		if err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 6)) {
			t.Error(b, err)
		}
	}
	return paths, errs
}

// TestDamagedCopyV2 opens groups of format 2 whose .zmetadata is not valid consolidated
// metadata. They are read without it and have a note. Nodes below can be changed and
// created, and Consolidate repairs it.
func TestDamagedCopyV2(t *testing.T) {
	for _, damaged := range []string{
		"{", "", "[]", "null", "{}", `{"metadata":[],"zarr_consolidated_format":1}`, "\xff", strings.Repeat("[", 1000),
	} {
		t.Run(fmt.Sprintf("%.20q", damaged), func(t *testing.T) {
			ctx := t.Context()
			s, h := withArray(t, 2)
			fixture.Put(t, s, ".zmetadata", damaged)
			g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := g.Notes(); len(n) != 1 || !strings.Contains(n[0], ".zmetadata") || !strings.Contains(n[0], "varve consolidate") {
				t.Errorf("notes %q", n)
			}
			if paths, errs := readGood(t, g); !slices.Equal(paths, []string{"good"}) || errs != nil {
				t.Errorf("members %q, %v", paths, errs)
			}
			if _, err := g.At("new").CreateArray(ctx, fixture.AsV2(fixture.Every(6, 4)), nil); err != nil {
				t.Error(err)
			}
			if valueAt(t, s, ".zmetadata") != damaged {
				t.Error("the unreadable consolidated metadata was changed")
			}
			if err := g.Consolidate(ctx); err != nil {
				t.Fatal(err)
			}
			if g, err = h.At("").OpenGroup(ctx, nil); err != nil || g.Notes() != nil {
				t.Fatal(g.Notes(), err)
			}
			if !strings.Contains(valueAt(t, s, ".zmetadata"), "new/.zarray") {
				t.Error("the consolidated metadata was not repaired")
			}
			if paths, errs := readGood(t, g); !slices.Equal(paths, []string{"good", "new"}) || errs != nil {
				t.Errorf("members %q, %v", paths, errs)
			}
		})
	}
}

// TestLaterLayoutV2 opens a group whose consolidated metadata has an unknown layout. It
// is read without it. A change below the group returns an error that the copy is now
// stale, because other programs may know the layout.
func TestLaterLayoutV2(t *testing.T) {
	s, h := withArray(t, 2)
	fixture.Put(t, s, ".zmetadata", `{"metadata":{},"zarr_consolidated_format":2}`)
	g, err := h.At("").OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if paths, errs := readGood(t, g); !slices.Equal(paths, []string{"good"}) || errs != nil || !strings.Contains(fmt.Sprint(g.Notes()), "layout 2") {
		t.Errorf("members %q, %v, notes %q", paths, errs, g.Notes())
	}
	if _, err := g.At("new").CreateArray(t.Context(), fixture.AsV2(fixture.Every(6, 4)), nil); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "not up to date") {
		t.Error(err)
	}
}

// TestDamagedCopyRemote opens a group with damaged consolidated metadata over HTTP,
// where nothing can be listed. The error says why listing is needed.
func TestDamagedCopyRemote(t *testing.T) {
	s, _ := withArray(t, 2)
	fixture.Put(t, s, ".zmetadata", "{")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, _, err := s.Get(r.Context(), store.MustKey(strings.TrimPrefix(r.URL.Path, "/")), store.Request{}, nil)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Write(value)
	}))
	defer server.Close()
	g, err := zarr.OpenGroup(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	_, errs := readGood(t, g)
	if len(errs) != 1 || !errors.Is(errs[0], zarr.ErrUnsupported) || !strings.Contains(errs[0].Error(), "/.zmetadata") {
		t.Errorf("errors %v", errs)
	}
	a, err := g.At("good").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 6)) {
		t.Error(b, err)
	}
}

// TestRefusedEntries lists groups of both formats with an entry that consolidated
// metadata must not have. The entry gives one error, the others are read, and
// Consolidate removes it.
func TestRefusedEntries(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, path := range []string{"../b", "/etc", "good/below", "twice", "", "a/../../b", `..\\b`} {
			t.Run(fmt.Sprintf("%d %q", format, path), func(t *testing.T) {
				ctx := t.Context()
				s, h := withArray(t, format)
				key := "zarr.json"
				entry := func(path string, good string) string { return fmt.Sprintf(`"%s":%s,`, path, good) }
				if format == 2 {
					key = ".zmetadata"
					entry = func(path string, good string) string { return fmt.Sprintf(`"%s/.zarray":%s,`, path, good) }
				}
				g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
				if err == nil {
					err = g.Consolidate(ctx)
				}
				if err != nil {
					t.Fatal(err)
				}
				good := valueAt(t, s, map[int]string{2: "good/.zarray", 3: "good/zarr.json"}[format])
				bad := strings.Repeat(entry(path, good), 1+strings.Count(path, "twice"))
				fixture.Put(t, s, key, strings.Replace(valueAt(t, s, key), `"metadata": {`, `"metadata": {`+bad, 1))
				if g, err = h.At("").OpenGroup(ctx, &zarr.Options{Write: true}); err != nil {
					t.Fatal(err)
				}
				paths, errs := readGood(t, g)
				if !slices.Equal(paths, []string{"good"}) || len(errs) != 1 || !errors.Is(errs[0], zarr.ErrInvalidMetadata) ||
					!strings.Contains(errs[0].Error(), "/metadata/"+strings.ReplaceAll(strings.ReplaceAll(path, `\\`, `\`), "/", "~1")) {
					t.Errorf("members %q, errors %v", paths, errs)
				}
				a, err := g.At("good").OpenArray(ctx, nil)
				if err == nil {
					err = a.Resize(ctx, []int64{7}, nil)
				}
				if err != nil {
					t.Error(err)
				}
				if err := g.Consolidate(ctx); err != nil {
					t.Fatal(err)
				}
				if got := listed(t, s, "good").Shape(); !slices.Equal(got, []int64{7}) {
					t.Errorf("shape %v", got)
				}
			})
		}
	}
}
