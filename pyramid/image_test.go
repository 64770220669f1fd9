// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// ofOthers makes a group g with an image of another program: levels of the given names,
// each half as long as the one before it. datasets are what its metadata name.
func ofOthers(t *testing.T, format int, step int64, names ...string) (s store.Store, datasets string) {
	t.Helper()
	s = memstore.New()
	var list []string
	for k, name := range names {
		scale := int64(1) << k
		list = append(list, fmt.Sprintf(`{"path":"%s","coordinateTransformations":[{"type":"scale","scale":[%d.0,%d]}],"x":{"y":1e2}}`, name, scale, scale))
	}
	datasets = strings.Join(list, ",")
	image := `"multiscales":[{"name":"n","type":"gaussian","metadata":{"by":"others"},"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[` + datasets + `]}]`
	attributes := `{"omero":{},"ome":{"version":"0.5",` + image + `}}`
	if format == 2 {
		attributes = `{"omero":{},` + image + `}`
	}
	_, err := zarr.At(s, "g").CreateGroup(t.Context(), []byte(attributes), &zarr.CreateOptions{Format: format})
	check1(t, err)
	for k, name := range names {
		spec := zarr.Spec{
			Format: format, Shape: []int64{64 >> k, 64 >> k}, Chunks: every(step, step), Type: dtype.Int32,
			DimensionNames: []string{"y", "x"}, FillValue: zarr.FillJSON("0"),
		}
		a, err := zarr.At(s, "g/"+name).CreateArray(t.Context(), spec, nil)
		check1(t, err)
		check1(t, zarr.Fill(t.Context(), a, nil, int32(k+1)))
	}
	return s, datasets
}

// attributesOf returns the attributes of the group g, without white space.
func attributesOf(t *testing.T, s store.Store) string {
	t.Helper()
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), nil)
	check1(t, err)
	return fixture.Compact(g.Attributes())
}

// TestLevelsOfOthers keeps the levels of another program, and all that it has written of
// the image. Others are made on request only, and go again.
func TestLevelsOfOthers(t *testing.T) {
	for _, format := range []int{3, 2} {
		for _, step := range []int64{64, 8} {
			s, datasets := ofOthers(t, format, step, "s0", "s1", "s2")
			before, keys := attributesOf(t, s), keysOf(t, s)
			a, err := zarr.At(s, "g/s0").OpenArray(t.Context(), &zarr.Options{Write: true})
			check1(t, err)
			unchanged := func(opt *pyramid.Options) {
				t.Helper()
				plan, err := pyramid.Make(t.Context(), a, opt)
				check1(t, err)
				if len(plan.Levels) > 0 || !slices.Equal(plan.Others, []string{"s1", "s2"}) {
					t.Errorf("%+v", plan)
				}
				if now := attributesOf(t, s); now != before {
					t.Errorf("the attributes are %s, were %s", now, before)
				}
			}
			unchanged(nil)
			unchanged(&pyramid.Options{Levels: -1})
			if !slices.Equal(keysOf(t, s), keys) {
				t.Errorf("left %v", keysOf(t, s))
			}
			for range 2 {
				plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 3})
				check1(t, err)
				if len(plan.Levels) != 3 || plan.Levels[0].Path != "s0_levels/1" {
					t.Errorf("%+v", plan)
				}
				if got := named(t, s); !slices.Equal(got, []string{"s0", "s1", "s0_levels/1", "s2", "s0_levels/2", "s0_levels/3"}) {
					t.Errorf("named are %v", got)
				}
				for _, d := range strings.Split(datasets, ",{") {
					if now := attributesOf(t, s); !strings.Contains(now, d) || !strings.Contains(now, `"type":"gaussian","metadata":{"by":"others"}`) {
						t.Errorf("%s lacks %s", now, d)
					}
				}
			}
			plan, err := pyramid.Make(t.Context(), a, nil) // as the last time
			check1(t, err)
			if len(plan.Levels) != 3 {
				t.Errorf("%+v", plan)
			}
			unchanged(&pyramid.Options{Levels: -1})
		}
	}
}

// TestNumberedLevelsOfOthers leaves an image alone whose levels have the names that its
// levels would have here.
func TestNumberedLevelsOfOthers(t *testing.T) {
	for _, step := range []int64{64, 8} {
		s, _ := ofOthers(t, 3, step, "0", "1", "2")
		before, keys := attributesOf(t, s), keysOf(t, s)
		a, err := zarr.At(s, "g/0").OpenArray(t.Context(), &zarr.Options{Write: true})
		check1(t, err)
		plan, err := pyramid.Make(t.Context(), a, nil)
		check1(t, err)
		if len(plan.Levels) > 0 || !slices.Equal(plan.Others, []string{"1", "2"}) {
			t.Errorf("%+v", plan)
		}
		if _, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 1}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "g/1") {
			t.Error(err)
		}
		if _, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: -1}); err != nil {
			t.Error(err)
		}
		if now := attributesOf(t, s); now != before || !slices.Equal(keysOf(t, s), keys) {
			t.Errorf("the attributes are %s, were %s; left %v", now, before, keysOf(t, s))
		}
	}
}

// TestZeros makes the mean of zeros, which are black in an image of OME-Zarr of format 2,
// and missing elsewhere where xarray reads the array. The pyramid itself makes no image.
func TestZeros(t *testing.T) {
	for name, c := range map[string]struct {
		image bool
		names []string
		want  int32
	}{
		"image":      {true, []string{"y", "x"}, 25},
		"no names":   {false, nil, 25},
		"no OME":     {false, []string{"y", "x"}, 100},
		"both":       {true, nil, 25},
		"named as 0": {false, []string{"y", "x"}, 100},
	} {
		s, of := memstore.New(), "image"
		if name == "named as 0" {
			of = "0"
		}
		attributes := "{}"
		if c.image {
			attributes = `{"multiscales":[{"version":"0.4","datasets":[{"path":"image"}]}]}`
		}
		_, err := zarr.At(s, "g").CreateGroup(t.Context(), []byte(attributes), &zarr.CreateOptions{Format: 2})
		check1(t, err)
		spec := zarr.Spec{Format: 2, Shape: []int64{2, 2}, Chunks: every(2, 2), Type: dtype.Int32, DimensionNames: c.names, FillValue: zarr.FillJSON("0")}
		a, err := zarr.At(s, "g/"+of).CreateArray(t.Context(), spec, nil)
		check1(t, err)
		check1(t, zarr.Write(t.Context(), a, nil, []int32{0, 0, 0, 100}))
		for i := range 2 {
			plan, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 1})
			check1(t, err)
			if plan.Rebuild != (i == 0) {
				t.Errorf("%s: run %d: %+v", name, i, plan)
			}
			got, err := zarr.Read[int32](t.Context(), levelOf(t, s, plan.Levels[0]), nil)
			check1(t, err)
			if got.Data[0] != c.want {
				t.Errorf("%s: %v, want %d", name, got.Data, c.want)
			}
		}
	}
}

// TestGroups gives each level a group and dimensions of its own, so that xarray opens the
// hierarchy, and keeps the axes that are not divided. In format 2 the names are
// attributes, which follow those of the array otherwise.
func TestGroups(t *testing.T) {
	for _, format := range []int{3, 2} {
		s := memstore.New()
		spec := zarr.Spec{Format: format, Shape: []int64{2, 16, 16}, Chunks: every(1, 4, 4), DimensionNames: []string{"time", "lat", "lon"}, Attributes: map[string]any{"units": "K"}}
		a := newImage(t, s, spec)
		for _, units := range []string{"K", "C"} {
			plan, err := pyramid.Make(t.Context(), a, nil)
			check1(t, err)
			for k, l := range plan.Levels {
				level := levelOf(t, s, l)
				suffix := fmt.Sprintf("_level%d", k+1)
				if want := []string{"time", "lat" + suffix, "lon" + suffix}; !slices.Equal(level.DimensionNames(), want) {
					t.Errorf("%s has the dimensions %v", l.Path, level.DimensionNames())
				}
				if unit, _, err := metadata.Attribute(level.Attributes(), "units"); err != nil || string(unit) != `"`+units+`"` {
					t.Errorf("%s has the units %s, %v", l.Path, unit, err)
				}
				g, err := zarr.At(s, fmt.Sprintf("g/image_levels/%d", k+1)).OpenGroup(t.Context(), nil)
				check1(t, err)
				check1(t, g.CheckDimensions(t.Context()))
			}
			if len(plan.Levels) != 2 {
				t.Errorf("%+v", plan)
			}
			check1(t, a.UpdateAttributes(t.Context(), func(raw []byte) ([]byte, error) { return metadata.SetAttribute(raw, "units", []byte(`"C"`)) }))
		}
	}
}

// TestMembersOfOthers keeps what another program has stored in the group of a level.
func TestMembersOfOthers(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4), DimensionNames: []string{"y", "x"}})
	for _, opt := range []pyramid.Options{{}, {Method: pyramid.Max}, {Levels: -1}, {Method: pyramid.Min, Levels: 2}} {
		plan, err := pyramid.Make(t.Context(), a, &opt)
		check1(t, err)
		if opt.Method == "" && opt.Levels == 0 {
			spec := zarr.Spec{Shape: []int64{8}, Type: a.Type(), DimensionNames: []string{"y_level1"}}
			_, err := zarr.At(s, "g/image_levels/1/y_level1").CreateArray(t.Context(), spec, nil)
			check1(t, err)
		}
		if _, err := zarr.At(s, "g/image_levels/1/y_level1").OpenArray(t.Context(), nil); err != nil {
			t.Errorf("%+v: %v", opt, err)
		}
		for k := range int64(3) {
			_, err := zarr.At(s, "g/"+expected("image", int(k))).OpenArray(t.Context(), nil)
			if there := err == nil; there != (int(k) < len(plan.Levels)) {
				t.Errorf("%+v: level %d is there: %t", opt, k+1, there)
			}
		}
		if g, err := zarr.At(s, "g/image_levels/2").OpenGroup(t.Context(), nil); (err == nil) != (len(plan.Levels) == 2) {
			t.Errorf("%+v: %v, %v", opt, g, err)
		}
	}
}

// TestFormerLayout makes levels anew that have no groups of their own yet.
func TestFormerLayout(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4), DimensionNames: []string{"y", "x"}})
	note := map[string]any{"varve:pyramid": map[string]string{"of": "image"}}
	_, err := zarr.At(s, "g/image_levels").CreateGroup(t.Context(), note, nil)
	check1(t, err)
	for _, level := range []string{"1", "2", "3"} {
		_, err := zarr.At(s, "g/image_levels/"+level).CreateArray(t.Context(), zarr.Spec{Shape: []int64{4, 4}, Type: a.Type(), Attributes: note}, nil)
		check1(t, err)
	}
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), &zarr.Options{Write: true})
	check1(t, err)
	const was = `{"ome":{"version":"0.5","multiscales":[{"axes":[],"datasets":[{"path":"image"},{"path":"image_levels/1"},{"path":"image_levels/2"},{"path":"image_levels/3"}],"metadata":{"method":"varve.dev/zarr/pyramid"}}]}}`
	check1(t, g.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(was), nil }))
	plan, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	if len(plan.Levels) != 2 || !plan.Rebuild {
		t.Errorf("%+v", plan)
	}
	if got := named(t, s); !slices.Equal(got, []string{"image_levels/1/image", "image_levels/2/image"}) {
		t.Errorf("named are %v in %s", got, attributesOf(t, s))
	}
	if keys := keysOf(t, s); slices.Contains(keys, "g/image_levels/3/zarr.json") || slices.Contains(keys, "g/image_levels/1/c") {
		t.Errorf("left %v", keys)
	}
}

// TestMembersOfOthersInAnImage makes levels whose groups another program has filled, and
// whose metadata it has made its own: the levels would now take the place of the groups.
// What is in there stays.
func TestMembersOfOthersInAnImage(t *testing.T) {
	s := memstore.New()
	a := newImage(t, s, zarr.Spec{Shape: []int64{16, 16}, Chunks: every(4, 4), DimensionNames: []string{"y", "x"}})
	_, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
	check1(t, err)
	_, err = zarr.At(s, "g/image_levels/2/lat").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: a.Type()}, nil)
	check1(t, err)
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), &zarr.Options{Write: true})
	check1(t, err)
	const theirs = `{"ome":{"version":"0.5","multiscales":[{"axes":[{"name":"y"},{"name":"x"}],"datasets":[{"path":"image","coordinateTransformations":[{"type":"scale","scale":[1,1]}]}]}]}}`
	check1(t, g.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(theirs), nil }))
	for range 2 {
		if _, err := pyramid.Make(t.Context(), a, nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), `"lat"`) {
			t.Errorf("error is %v", err)
		}
		if keys := keysOf(t, s); !slices.Contains(keys, "g/image_levels/2/lat/zarr.json") {
			t.Fatalf("left %v", keys)
		}
	}
	check1(t, zarr.At(s, "g/image_levels/2/lat").Delete(t.Context(), &zarr.Options{Write: true}))
	plan, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	if len(plan.Levels) != 2 {
		t.Errorf("%+v", plan)
	}
}

// zero makes an array g/0, with attributes of the group.
func zero(t *testing.T, format int, attributes string) (store.Store, *zarr.Array) {
	t.Helper()
	s := memstore.New()
	_, err := zarr.At(s, "g").CreateGroup(t.Context(), []byte(attributes), &zarr.CreateOptions{Format: format})
	check1(t, err)
	spec := zarr.Spec{Format: format, Shape: []int64{16, 16}, Chunks: every(4, 4), Type: dtype.Int32, DimensionNames: []string{"y", "x"}}
	a, err := zarr.At(s, "g/0").CreateArray(t.Context(), spec, nil)
	check1(t, err)
	check1(t, zarr.Fill(t.Context(), a, nil, int32(7)))
	return s, a
}

// TestArrayNamed0 gives the levels of an array named 0 groups, as those of any other
// array, unless another program has described it as an image.
func TestArrayNamed0(t *testing.T) {
	for _, format := range []int{3, 2} {
		image := `{"ome":{"version":"0.5","multiscales":[{"axes":[],"datasets":[{"path":"0"}]}]}}`
		if format == 2 {
			image = `{"multiscales":[{"version":"0.4","axes":[],"datasets":[{"path":"0"}]}]}`
		}
		for attributes, paths := range map[string][]string{"{}": {"0_levels/1/0", "0_levels/2/0"}, image: {"1", "2"}} {
			s, a := zero(t, format, attributes)
			for round := range 2 {
				plan, err := pyramid.Make(t.Context(), a, nil)
				check1(t, err)
				if len(plan.Levels) != 2 || plan.Levels[0].Path != paths[0] || plan.Levels[1].Path != paths[1] || plan.Rebuild != (round == 0) {
					t.Fatalf("%s: %+v", attributes, plan)
				}
			}
			wantLevel(t, s, "g/"+paths[1], grid.BoxOf([]int64{4, 4}), 7)
			names := []string{"y", "x"}
			if attributes == "{}" { // one group must not have two lengths of a dimension
				names = []string{"y_level2", "x_level2"}
			}
			level, err := zarr.At(s, "g/"+paths[1]).OpenArray(t.Context(), nil)
			check1(t, err)
			if got := level.DimensionNames(); !slices.Equal(got, names) {
				t.Errorf("%s: the dimensions are %v", attributes, got)
			}
			_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: -1})
			check1(t, err)
			if keys := strings.Join(keysOf(t, s), " "); strings.Contains(keys, "g/"+paths[0]) || strings.Contains(keys, "g/"+paths[1]) {
				t.Errorf("%s: left %s", attributes, keys)
			}
		}
	}
}

// TestFormerLevelsBeside brings levels up to date that lie beside an array named 0, as
// all did before, until they are removed.
func TestFormerLevelsBeside(t *testing.T) {
	s, a := zero(t, 3, `{"ome":{"version":"0.5","multiscales":[{"axes":[],"datasets":[{"path":"0"}]}]}}`)
	_, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	g, err := zarr.At(s, "g").OpenGroup(t.Context(), &zarr.Options{Write: true})
	check1(t, err)
	ours := strings.Replace(attributesOf(t, s), `"axes":[]`, `"axes":[],"metadata":{"method":"varve.dev/zarr/pyramid"}`, 1)
	check1(t, g.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(ours), nil }))
	check1(t, zarr.Fill(t.Context(), a, nil, int32(9)))
	plan, err := pyramid.Make(t.Context(), a, nil)
	check1(t, err)
	if plan.Rebuild || len(plan.Levels) != 2 || len(plan.Others) > 0 || plan.Levels[0].Made == 0 {
		t.Errorf("%+v", plan)
	}
	wantLevel(t, s, "g/2", grid.BoxOf([]int64{4, 4}), 9)
	if got := named(t, s); !slices.Equal(got, []string{"1", "2"}) && !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("named are %v", got)
	}
	_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: -1})
	check1(t, err)
	plan, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 1})
	check1(t, err)
	if plan.Levels[0].Path != "0_levels/1/0" || slices.Contains(keysOf(t, s), "g/1/zarr.json") {
		t.Errorf("%+v, left %v", plan, keysOf(t, s))
	}
}
