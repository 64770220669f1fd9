// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/crc32c"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// content returns elements, names and attributes of all arrays below a path, and the
// attributes of groups. It ignores the definition of missing values, which
// TestConvertMissing checks.
func content(t testing.TB, s store.Store, path string, format int) map[string]string {
	t.Helper()
	all := map[string]string{}
	g, err := zarr.At(s, path).OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all[""] = string(g.Attributes())
	for m, err := range g.Members(t.Context(), true) {
		if err = errors.Join(err, m.Err); err != nil {
			t.Fatal(err)
		}
		if format != 0 && m.Node.Format() != format {
			t.Errorf("%s is of format %d, want %d", m.Path, m.Node.Format(), format)
		}
		a, isArray := m.Node.(*zarr.Array)
		if !isArray {
			all[m.Path] = string(m.Node.Attributes())
			continue
		}
		attributes := a.Attributes()
		for _, name := range []string{"_ARRAY_DIMENSIONS", "_FillValue", "missing_value"} {
			if attributes, err = metadata.UnsetAttribute(attributes, name); err != nil {
				t.Fatal(err)
			}
		}
		all[m.Path] = fmt.Sprintln(a.Type(), a.Shape(), a.DimensionNames(), strings.Join(strings.Fields(string(attributes)), ""))
		if a.Type().Variable() {
			b, err := zarr.Read[string](t.Context(), a, nil)
			if err != nil {
				t.Fatal(err)
			}
			all[m.Path] += fmt.Sprintf("%q", b.Data)
			continue
		}
		n := int64(a.Type().Size())
		for _, length := range a.Shape() {
			n *= length
		}
		data := make([]byte, n)
		if err := a.ReadBytes(t.Context(), nil, data); err != nil {
			t.Fatal(m.Path, err)
		}
		all[m.Path] += fmt.Sprintf("%x", data)
	}
	return all
}

// chunksOf returns the values other than documents.
func chunksOf(t testing.TB, s store.Store, path string) map[string]string {
	all := trees.Values(t, s, path)
	for name := range all {
		if base := name[strings.LastIndexByte(name, '/')+1:]; base[0] == '.' || base == "zarr.json" {
			delete(all, name)
		}
	}
	return all
}

// documentNamesIn returns the distinct names of documents below a path.
func documentNamesIn(t testing.TB, s store.Store, path string) string {
	var names []string
	for name := range trees.Values(t, s, path) {
		if base := name[strings.LastIndexByte(name, '/')+1:]; base[0] == '.' || base == "zarr.json" {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// TestConvert converts a tree to format 3 and back. Chunks do not change, and the content
// is the same.
func TestConvert(t *testing.T) {
	for _, s := range []store.Store{memtest.New(), trees.Directory(t)} {
		trees.Archive(t, s, "")
		want, chunks := content(t, s, "", 2), chunksOf(t, s, "")
		plan, err := convert.Convert(t.Context(), zarr.At(s, ""), 3, &convert.Options{DryRun: true})
		if err != nil || len(plan.Nodes) != 6 || documentNamesIn(t, s, "") != ".zarray .zattrs .zgroup .zmetadata" {
			t.Fatal(plan, err, documentNamesIn(t, s, ""))
		}
		for _, to := range []int{3, 3, 2, 2, 3} {
			if _, err := convert.Convert(t.Context(), zarr.At(s, ""), to, nil); err != nil {
				t.Fatal(err)
			}
			if d := trees.Differ(want, content(t, s, "", to)); d != "" {
				t.Errorf("format %d: another content: %s", to, d)
			}
			if d := trees.Differ(chunks, chunksOf(t, s, "")); d != "" {
				t.Errorf("format %d: other chunks: %s", to, d)
			}
			names := map[int]string{2: ".zarray .zattrs .zgroup .zmetadata", 3: "zarr.json"}[to]
			if got := documentNamesIn(t, s, ""); got != names {
				t.Errorf("format %d: documents %s", to, got)
			}
			root := trees.Values(t, s, "")["zarr.json"]
			if to == 3 && (!strings.Contains(root, "consolidated_metadata") || !strings.Contains(root, "1.50") || !strings.Contains(root, `"deep/text"`)) {
				t.Errorf("the group is %s", root)
			}
		}
	}
}

// TestConvertInterrupted stops a conversion before every operation. The content is the
// same at any time, and another call finishes the conversion.
func TestConvertInterrupted(t *testing.T) {
	racing.Skip(t)
	for _, to := range []int{3, 2} {
		stop := errors.New("stopped")
		points := 0
		for k := 0; ; k++ {
			left := memtest.New()
			trees.Archive(t, left, "")
			if to == 2 {
				if _, err := convert.Convert(t.Context(), zarr.At(left, ""), 3, nil); err != nil {
					t.Fatal(err)
				}
			}
			want := content(t, left, "", 0)
			n := 0
			s := stepping.Conditional(left, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
				if n++; n > k {
					return stop
				}
				return nil
			}})
			_, err := convert.Convert(t.Context(), zarr.At(s, ""), to, nil)
			if err == nil {
				break
			}
			if points++; !errors.Is(err, stop) {
				t.Fatal(err)
			}
			if d := trees.Differ(want, content(t, left, "", 0)); d != "" {
				t.Fatalf("to %d, stopped at %d: another content: %s", to, k, d)
			}
			if _, err := convert.Convert(t.Context(), zarr.At(left, ""), to, nil); err != nil {
				t.Fatalf("to %d, stopped at %d: %v", to, k, err)
			}
			names := map[int]string{2: ".zarray .zattrs .zgroup .zmetadata", 3: "zarr.json"}[to]
			if d, got := trees.Differ(want, content(t, left, "", to)), documentNamesIn(t, left, ""); d != "" || got != names {
				t.Fatalf("to %d, stopped at %d and done again: another content: %s, documents %s", to, k, d, got)
			}
		}
		t.Logf("to format %d: %d points", to, points)
		if points < 50 {
			t.Errorf("%d points are too few", points)
		}
	}
}

// TestConvertRefused checks which nodes cannot be converted in place, and that they are
// not changed.
func TestConvertRefused(t *testing.T) {
	s, recent := memtest.New(), memtest.New()
	trees.Tree(t, recent, "")
	trees.Archive(t, s, "old")
	before := trees.Values(t, s, "")
	for name, c := range map[string]struct {
		in   store.Store
		path string
		to   int
		want error
	}{
		"chunk keys":  {recent, "", 2, zarr.ErrUnsupported},
		"one array":   {s, "old/plain", 3, zarr.ErrInvalidArgument},
		"no format":   {s, "old", 4, zarr.ErrInvalidArgument},
		"nothing":     {s, "none", 3, fs.ErrNotExist},
		"wrong path":  {s, "__varve", 3, zarr.ErrInvalidArgument},
		"same format": {s, "old", 2, nil},
	} {
		for _, dry := range []bool{true, false} {
			if _, err := convert.Convert(t.Context(), zarr.At(c.in, c.path), c.to, &convert.Options{DryRun: dry}); !errors.Is(err, c.want) {
				t.Errorf("%s: error is %v, want %v", name, err, c.want)
			}
		}
	}
	after := trees.Values(t, s, "")
	for name := range before { // that which stays may be consolidated again
		if strings.HasSuffix(name, ".zmetadata") {
			delete(before, name)
			delete(after, name)
		}
	}
	if d := trees.Differ(before, after); d != "" {
		t.Errorf("changed: %s", d)
	}
}

// TestConvertChanged changes a document during the conversion: the new documents are
// removed.
func TestConvertChanged(t *testing.T) {
	left := memtest.New()
	trees.Archive(t, left, "")
	changed := false
	s := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if op.Key.String() == "zarr.json" && strings.HasPrefix(op.Name, "Put") && !changed {
			changed = true
			_, err := store.Write(ctx, left, store.Put(store.MustKey("plain/.zattrs"), []byte(`{"new":1}`)), store.Flush)
			return err
		}
		return nil
	}})
	_, err := convert.Convert(t.Context(), zarr.At(s, ""), 3, nil)
	if !changed {
		t.Error("nothing was changed")
	}
	if !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("error is %v, want %v", err, zarr.ErrConflict)
	}
	if got := documentNamesIn(t, left, ""); got != ".zarray .zattrs .zgroup .zmetadata" {
		t.Errorf("documents %s", got)
	}
}

// TestConvertTo converts trees to other places. Some arrays have to be encoded again.
func TestConvertTo(t *testing.T) {
	for name, c := range map[string]struct {
		build func(testing.TB, store.Store, string)
		to    int
		anew  string
	}{
		"old to new": {trees.Archive, 3, ""}, "old to old": {trees.Archive, 2, ""},
		"new to old": {trees.Arrays, 2, "listed shards"}, "new to new": {trees.Arrays, 3, ""},
	} {
		src, dst := memtest.New(), memtest.New()
		c.build(t, src, "x")
		want := content(t, src, "x", 0)
		plan, err := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(dst, "in/y"), c.to, &convert.Options{DryRun: true})
		if err != nil || len(trees.Values(t, dst, "")) > 0 {
			t.Fatal(name, err)
		}
		report, err := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(dst, "in/y"), c.to, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if d := trees.Differ(want, content(t, dst, "in/y", c.to)); d != "" {
			t.Errorf("%s: another content: %s", name, d)
		}
		var anew []string
		for i, n := range report.Nodes {
			if n.Anew != "" {
				anew = append(anew, n.Path)
			}
			if n != plan.Nodes[i] {
				t.Errorf("%s: %+v was planned as %+v", name, n, plan.Nodes[i])
			}
		}
		if got := strings.Join(anew, " "); got != c.anew {
			t.Errorf("%s: encoded again: %s, want %s", name, got, c.anew)
		}
		if _, err := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(dst, "in/y"), c.to, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: again: %v", name, err)
		}
		if _, err := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(dst, "in/y"), c.to, &convert.Options{Overwrite: true}); err != nil {
			t.Errorf("%s: over what is there: %v", name, err)
		}
	}
}

// TestConvertToStopped stops a conversion to another place before every operation: either
// nothing of the node is visible, or all of it.
func TestConvertToStopped(t *testing.T) {
	racing.Skip(t)
	src := memtest.New()
	trees.Arrays(t, src, "x")
	want := content(t, src, "x", 0)
	stop := errors.New("stopped")
	visible, points := 0, 0
	for k := 0; ; k++ {
		left, n := memtest.New(), 0
		dst := stepping.Conditional(left, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
			if n++; n > k {
				return stop
			}
			return nil
		}})
		_, err := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(dst, "y"), 2, &convert.Options{Options: zarr.Options{Concurrency: 1}})
		if err == nil {
			break
		}
		if points++; !errors.Is(err, stop) {
			t.Fatal(err)
		}
		o := &convert.Options{}
		if _, err := zarr.At(left, "y").Open(t.Context(), nil); err == nil {
			visible++
			o.Overwrite = true
			if d := trees.Differ(want, content(t, left, "y", 2)); d != "" {
				t.Fatalf("stopped at %d: it is there, and differs: %s", k, d)
			}
		}
		if _, err := convert.ConvertTo(t.Context(), zarr.At(src, "x"), zarr.At(left, "y"), 2, o); err != nil {
			t.Fatalf("stopped at %d, another one: %v", k, err)
		}
	}
	t.Logf("%d points, at %d of them the node is there", points, visible)
	if points < 40 || visible > 15 {
		t.Errorf("%d points and %d with the node are not what is expected", points, visible)
	}
}

func ExampleConvert() {
	ctx, s := context.Background(), memstore.New()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(2)}}
	a, err := zarr.At(s, "").CreateArray(ctx, spec, &zarr.CreateOptions{Format: 2})
	if err != nil {
		panic(err)
	}
	if err := zarr.Write(ctx, a, nil, []int8{1, 2, 3, 4}); err != nil {
		panic(err)
	}
	c, err := convert.Convert(ctx, a.Location(), 3, nil)
	fmt.Println(len(c.Nodes), c.Nodes[0].From, err)
	b, err := zarr.At(s, "").OpenArray(ctx, nil)
	fmt.Println(b.Format(), err)
	// Output:
	// 1 2 <nil>
	// 3 <nil>
}

// TestConvertFieldOrders converts structs of format 2 whose fields have different byte
// orders. They stay in format 2, or are encoded again with their other codecs.
func TestConvertFieldOrders(t *testing.T) {
	s := memtest.New()
	c, err := crc32c.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := c.(codec.BytesBytes).Encode(nil, []byte("\x01\x00\x00\x02\x03\x00\x00\x04"))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"a/.zarray": `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":[["a","<i2"],["b",">i2"]],"fill_value":null,"order":"C",` +
			`"filters":null,"compressor":{"id":"crc32c","location":"end"}}`,
		"a/0": string(checked),
	} {
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	before := trees.Values(t, s, "")
	if _, err := convert.Convert(t.Context(), zarr.At(s, "a"), 3, nil); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "give a DST") {
		t.Errorf("in place: %v", err)
	}
	if d := trees.Differ(before, trees.Values(t, s, "")); d != "" {
		t.Errorf("changed: %s", d)
	}
	report, err := convert.ConvertTo(t.Context(), zarr.At(s, "a"), zarr.At(s, "b"), 3, nil)
	if err != nil || !strings.Contains(report.Nodes[0].Anew, "only format 2 has") {
		t.Fatalf("%v, %+v", err, report)
	}
	b, err := zarr.At(s, "b").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type pair struct {
		A int16 `zarr:"a"`
		B int16 `zarr:"b"`
	}
	if got, err := zarr.ReadStructs[pair](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, []pair{{1, 2}, {3, 4}}) {
		t.Errorf("%v, %v", got, err)
	}
	names := []string{}
	for _, c := range b.Metadata().Codecs {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"bytes", "crc32c"}) {
		t.Errorf("codecs %q", names)
	}
}

// TestConvertFrom converts trees that cannot be listed, on a web server, through
// consolidated metadata. Some arrays are encoded again.
func TestConvertFrom(t *testing.T) {
	for to, build := range map[int]func(testing.TB, store.Store, string){3: trees.Archive, 2: trees.Arrays} {
		dir := t.TempDir()
		s, err := filestore.Open(dir+"/x.zarr", &filestore.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close(s)
		build(t, s, "")
		g, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			err = g.Consolidate(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.FileServer(http.Dir(dir)))
		defer server.Close()
		dst := memtest.New()
		if _, err := convert.ConvertTo(t.Context(), trees.Locate(t, server.URL+"/x.zarr", store.ReadOnly), zarr.At(dst, "y"), to, nil); err != nil {
			t.Fatal(err)
		}
		if d := trees.Differ(content(t, s, "", 0), content(t, dst, "y", to)); d != "" {
			t.Errorf("to %d: another content: %s", to, d)
		}
	}
}

// TestConvertLinks converts a group with symbolic links to its own and other nodes, there
// and back. Each node is converted once, by its name without links if it has one in the
// group.
func TestConvertLinks(t *testing.T) {
	dir := t.TempDir()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(s)
	trees.Archive(t, s, "g")
	trees.Archive(t, s, "beside")
	for name, target := range map[string]string{"g/a": "plain", "g/z": "deep", "g/y1": "../beside/deep", "g/y2": "../beside/deep"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	h := zarr.At(s, "")
	g, err := h.At("g").OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = g.Consolidate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []int{3, 2} {
		c, err := convert.Convert(t.Context(), h.At("g"), to, &convert.Options{Options: zarr.Options{Write: true}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range c.Nodes {
			got = append(got, n.Path)
		}
		want := []string{"", "deep", "deep/delta", "deep/text", "plain", "turned", "y1", "y1/delta", "y1/text"}
		if !slices.Equal(got, want) {
			t.Errorf("%q were converted, want %q", got, want)
		}
		for _, name := range []string{"a", "plain", "z/delta", "y2/text"} {
			a, err := h.At("g/"+name).OpenArray(t.Context(), nil)
			if err != nil || a.Format() != to {
				t.Errorf("%s: %v, of format %d", name, err, to)
			}
		}
		if members := content(t, s, "g", to); members["a"] != members["plain"] || members["z/delta"] == "" {
			t.Errorf("the members are %q", members)
		}
	}
}

// TestEmptyDocument converts no store in which a document was cut to nothing, as a
// crash of a machine leaves it, and names the document.
func TestEmptyDocument(t *testing.T) {
	for _, c := range []struct {
		name string
		from int
	}{{"a/.zarray", 2}, {"a/.zattrs", 2}, {".zgroup", 2}, {"g/.zgroup", 2}, {"g/.zattrs", 2}, {"zarr.json", 3}, {"g/zarr.json", 3}, {"a/zarr.json", 3}} {
		dir := t.TempDir()
		at := func(dir string) *zarr.Location {
			s, err := filestore.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			return zarr.At(s, "")
		}
		root := at(dir)
		opt := &zarr.CreateOptions{Format: c.from}
		for _, path := range []string{"", "g"} {
			if _, err := root.At(path).CreateGroup(t.Context(), map[string]int{"x": 1}, opt); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := root.At("a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, Attributes: []byte(`{"x": 1}`)}, opt); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, c.name), 0); err != nil {
			t.Fatal(err)
		}
		before := trees.Values(t, root.Store(), "")
		if _, err := convert.Convert(t.Context(), at(dir), 5-c.from, nil); !errors.Is(err, zarr.ErrInvalidMetadata) || !strings.Contains(err.Error(), filepath.Base(c.name)) {
			t.Errorf("%s is empty: converted in place: %v", c.name, err)
		}
		into := at(t.TempDir())
		if _, err := convert.ConvertTo(t.Context(), at(dir), into, 5-c.from, nil); !errors.Is(err, zarr.ErrInvalidMetadata) || !strings.Contains(err.Error(), filepath.Base(c.name)) {
			t.Errorf("%s is empty: converted: %v", c.name, err)
		}
		if after := trees.Values(t, root.Store(), ""); !maps.Equal(before, after) {
			t.Errorf("%s is empty: %v became %v", c.name, before, after)
		}
	}
}

// TestAxes gives the levels of an image of OME-Zarr 0.4 the names of its axes in format
// 3. Names that an array has stay, with a note.
func TestAxes(t *testing.T) {
	ctx := t.Context()
	src := zarr.At(memstore.New(), "")
	level := zarr.Spec{Shape: []int64{2, 2}, Type: dtype.Uint8}
	named := level
	named.DimensionNames = []string{"lat", "lon"}
	image := json.RawMessage(`{"multiscales":[{"version":"0.4","axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[{"path":"s/0"},{"path":"1"},{"path":"2"}]}]}`)
	cube := level
	cube.Shape = []int64{2, 2, 2}
	nodes := map[string]zarr.NodeSpec{"": zarr.GroupSpec{Attributes: image}, "s": zarr.GroupSpec{}, "s/0": level, "1": named, "2": cube, "other": level}
	if _, err := src.Create(ctx, nodes, &zarr.CreateOptions{Format: 2}); err != nil {
		t.Fatal(err)
	}
	done, err := convert.Convert(ctx, src, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{"s/0": {"y", "x"}, "1": {"lat", "lon"}, "2": nil, "other": nil} {
		a, err := src.At(path).OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.DimensionNames(); !slices.Equal(got, want) {
			t.Errorf("%s has the dimensions %q, want %q", path, got, want)
		}
		a.Close()
	}
	for _, n := range done.Nodes {
		if note := n.Imaging != ""; note != (n.Path == "" || n.Path == "1") {
			t.Errorf("%q: %q", n.Path, n.Imaging)
		}
	}
}

// TestImaging moves labels and series only with the images around them.
func TestImaging(t *testing.T) {
	ctx := t.Context()
	group := func(text string) zarr.GroupSpec { return zarr.GroupSpec{Attributes: json.RawMessage(text)} }
	image := func(version string) zarr.GroupSpec {
		return group(`{"multiscales":[{"version":"` + version + `","axes":[{"name":"y"}],"datasets":[]}]}`)
	}
	for _, version := range []string{"0.3", "0.4"} {
		nodes := map[string]zarr.NodeSpec{
			"": group(`{"bioformats2raw.layout":3}`), "OME": group(`{"series":["a","b"]}`), "plain": group(`{"a":1}`),
			"a": image(version), "a/labels": group(`{"labels":["x"]}`), "a/labels/x": image(version),
			"b": image("0.3"), "b/labels": group(`{"labels":["y"]}`), "b/labels/y": image("0.4"),
		}
		for _, inPlace := range []bool{true, false} {
			src, dst := zarr.At(memstore.New(), ""), zarr.At(memstore.New(), "")
			if _, err := src.Create(ctx, nodes, &zarr.CreateOptions{Format: 2}); err != nil {
				t.Fatal(err)
			}
			var done convert.Conversion
			var err error
			if inPlace {
				done, err = convert.Convert(ctx, src, 3, nil)
			} else {
				done, err = convert.ConvertTo(ctx, src, dst, 3, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range done.Nodes {
				moves := n.Path == "b/labels/y" || version == "0.4" && n.Path != "b" && n.Path != "b/labels"
				want := map[bool]string{true: "become", false: "0.3 stay"}[moves]
				if n.Path != "plain" && !strings.Contains(n.Imaging, want) {
					t.Errorf("images of %s, %q: %q, want %s", version, n.Path, n.Imaging, want)
				}
			}
		}
	}
}
