// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// demonstrate runs the demonstration in a new directory and returns what it measured.
func demonstrate(t *testing.T, args ...string) (dir string, facts demoFacts) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "demo")
	out := must(t, "", append([]string{"demo", "--json", dir}, args...)...)
	if err := json.Unmarshal([]byte(out), &facts); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return dir, facts
}

func TestDemo(t *testing.T) {
	racing.Skip(t)
	dir, facts := demonstrate(t)
	if want := []int64{1826, 36, 72}; !slices.Equal(facts.Before.Shape, want) || facts.Before.Chunks != 5 {
		t.Errorf("the archive is %+v", facts.Before)
	}
	if want := []int64{1836, 36, 72}; !slices.Equal(facts.After.Shape, want) || facts.After.Chunks != 15 {
		t.Errorf("the archive has become %+v", facts.After)
	}
	checkAppends(t, dir, "temperature", facts, 1)
	if facts.Values != 1836*36*72 || facts.SeamValues != 7*36*72 {
		t.Errorf("%d values and %d at the seam were compared", facts.Values, facts.SeamValues)
	}
	if facts.From != nil || facts.MadeRectilinear {
		t.Errorf("%+v is no copy", facts)
	}
	var written int64
	for _, f := range facts.Appends {
		written += f.NewBytes
	}
	if r := facts.Regular; r == nil || r.Chunk != 366 || r.Bytes < 20*written || r.MostOnce < 5*written {
		t.Errorf("regular chunks take %+v, listed ones %d bytes", r, written)
	}
	var e struct {
		Configuration struct {
			Shapes json.RawMessage `json:"chunk_shapes"`
		}
	}
	if err := json.Unmarshal(facts.ChunkGrid, &e); err != nil {
		t.Fatal(err)
	}
	if got := phrase.Compact(e.Configuration.Shapes); got != "[[[365,3],366,365,[1,10]],36,72]" {
		t.Errorf("chunk shapes %s", got)
	}
}

// valuesIn lists a folder as the demonstration does.
func valuesIn(t *testing.T, dir string) snapshot {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(s)
	all, err := (&demo{h: zarr.At(s, "")}).list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkAppends compares what was reported of the appends with the files that are there.
func checkAppends(t *testing.T, dir, name string, facts demoFacts, chunks int64) {
	t.Helper()
	if len(facts.Appends) != appended {
		t.Fatalf("%d appends", len(facts.Appends))
	}
	var written int64
	for i, f := range facts.Appends {
		if f.Index != facts.Before.Shape[0]+int64(i) || f.NewChunks != chunks || f.Documents != 1 || f.Others != 0 || f.DocumentBytes == 0 {
			t.Errorf("append %d: %+v", i, f)
		}
		written += f.NewBytes
	}
	files := valuesIn(t, dir)
	var stored int64
	for path, info := range files {
		if strings.HasPrefix(path, name+"/c/") {
			stored += info.Size
		}
	}
	if stored != facts.After.Bytes || written != facts.After.Bytes-facts.Before.Bytes {
		t.Errorf("%d bytes are stored, %d were appended: %+v", stored, written, facts)
	}
	last := facts.Appends[appended-1]
	if e, found := files[name+"/zarr.json"]; !found || e.Size != last.DocumentBytes {
		t.Errorf("the document is not the one that append %+v wrote", last)
	}
}

func TestDemoFromRectilinear(t *testing.T) {
	source := fixture(t, "rect_months.zarr")
	before := valuesIn(t, source)
	dir, facts := demonstrate(t, "--from", source)
	checkAppends(t, dir, "data", facts, 2)
	if facts.From == nil || *facts.From != source || facts.MadeRectilinear || facts.Values != 376*6 {
		t.Errorf("%+v", facts)
	}
	after := valuesIn(t, source)
	for path := range before.changes(after) {
		t.Errorf("%s of the original was changed", path)
	}
	a, err := zarr.OpenArray(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := zarr.OpenArray(t.Context(), facts.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, got := make([]byte, 366*6*4), make([]byte, 376*6*4)
	if err := errors.Join(a.ReadBytes(t.Context(), nil, want), b.ReadBytes(t.Context(), nil, got)); err != nil {
		t.Fatal(err)
	}
	if expected := append(slices.Clone(want), want[356*6*4:]...); !slices.Equal(got, expected) {
		t.Error("the copy does not end in the last ten planes once more")
	}
}

// TestDemoFromGroup takes the first array that can grow, after a scalar. Its grid is
// regular, it is shorter than the appends, and some of its chunks are not stored.
func TestDemoFromGroup(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source.zarr")
	create(t, filepath.Join(source, "a"), nil)
	a := create(t, filepath.Join(source, "deep", "b"), []int64{5, 7}, grid.Every(2), grid.Every(3))
	if err := zarr.Write(t.Context(), a, nil, slices.Repeat([]int32{0, 0, 0, 1, 2}, 7)); err != nil {
		t.Fatal(err)
	}
	dir, facts := demonstrate(t, "--from", source)
	checkAppends(t, dir, "b", facts, 3)
	if !facts.MadeRectilinear || facts.Values != 15*7 || facts.SeamValues != 7*7 {
		t.Errorf("%+v", facts)
	}
	want := `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[2,2],[1,11]],3]}}`
	if got := phrase.Compact(facts.ChunkGrid); got != want {
		t.Errorf("grid %s, want %s", got, want)
	}
}

func create(t *testing.T, location string, shape []int64, cuts ...grid.Cut) *zarr.Array {
	t.Helper()
	if cuts == nil {
		cuts = []grid.Cut{}
	}
	a, err := zarr.CreateArray(t.Context(), location, zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: cuts}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestDemoFailures(t *testing.T) {
	full, source := t.TempDir(), filepath.Join(t.TempDir(), "empty.zarr")
	if err := os.WriteFile(filepath.Join(full, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	create(t, source, []int64{0, 3}, grid.Every(2), grid.Every(3))
	group := t.TempDir()
	if _, err := zarr.CreateGroup(t.Context(), group, nil, nil); err != nil {
		t.Fatal(err)
	}
	months := fixture(t, "rect_months.zarr")
	empty := t.TempDir()
	scalar, huge := filepath.Join(t.TempDir(), "scalar.zarr"), filepath.Join(t.TempDir(), "huge.zarr")
	create(t, scalar, nil)
	create(t, huge, []int64{1 << 60, 4}, grid.Every(1<<50), grid.Every(1))
	tests := []struct {
		name   string
		args   []string
		status int
		kind   string
	}{
		{"not empty", []string{full}, 1, "exists"},
		{"no directory", []string{filepath.Join(full, "mine.txt")}, 1, "io"},
		{"no source", []string{empty, "--from", filepath.Join(full, "none")}, 1, "not-found"},
		{"no elements", []string{empty, "--from", source}, 1, "invalid-argument"},
		{"no arrays", []string{empty, "--from", group}, 1, "invalid-argument"},
		{"within the source", []string{filepath.Join(months, "c", "demo"), "--from", months}, 1, "invalid-argument"},
		{"scalar", []string{empty, "--from", scalar}, 1, "invalid-argument"},
		{"huge", []string{empty, "--from", huge}, 1, "limit"},
		{"two directories", []string{empty, full}, 2, "invalid-argument"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, errs, status := execute(t, "", append([]string{"demo", "--json"}, test.args...)...)
			if out != "" || status != test.status {
				t.Fatalf("status %d, want %d; printed %q, %s", status, test.status, out, errs)
			}
			if got := decode(t, errs)["error"].(map[string]any)["kind"]; got != test.kind {
				t.Errorf("kind %v, want %s: %s", got, test.kind, errs)
			}
		})
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("a refused demonstration left %v, %v", entries, err)
	}
}

func TestDemoIsAffordable(t *testing.T) {
	from := "a.zarr"
	d := &demo{origin: &origin{spec: zarr.Spec{Type: dtype.Int8}}, facts: demoFacts{From: &from}}
	for _, c := range []struct {
		bytes, room int64
		known       bool
		want        string // part of the error
	}{
		{mostCopied, 0, true, ""},
		{mostCopied + 1, mostCopied, true, "4.0 GiB of elements, too much to copy: only 4.0 GiB are free"},
		{mostCopied + 1, mostCopied + 1, true, ""},
		{mostCopied + 1, 0, false, "is unknown"},
	} {
		d.origin.spec.Shape = []int64{c.bytes}
		err := d.affordable(func(string) (int64, bool) { return c.room, c.known })
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if n, ok := localfile.FreeBytes(filepath.Join(t.TempDir(), "new", "deep")); ok && n <= 0 {
		t.Errorf("room for %d bytes", n)
	}
}

// TestDemoNoticesWrongValues runs the demonstration with wrong values in the array.
func TestDemoNoticesWrongValues(t *testing.T) {
	asked := 0
	from := &origin{
		spec: zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(2), grid.Every(3)}},
		fill: func(_ context.Context, _ grid.Box, dst []byte) error {
			asked++
			dst[0] = byte(asked)
			return nil
		},
		plane: func(int64) string { return "plane" },
	}
	cmd := newDemoCommand()
	cmd.SetOut(new(strings.Builder))
	cmd.SetContext(t.Context())
	err := newDemo(cmd, t.TempDir(), "wrong", from).run(t.Context())
	if !errors.Is(err, zarr.ErrCorrupt) || !strings.Contains(err.Error(), "differs from the one written") {
		t.Errorf("error %v", err)
	}
}

func TestDemoForPeople(t *testing.T) {
	racing.Skip(t)
	dir := filepath.Join(t.TempDir(), "demo")
	out := must(t, "", "demo", dir)
	for _, part := range []string{
		"1  The archive: five years of daily fields",
		"chunks   365×3, 366, 365 | 36 | 72",
		"2026-01-10            1",
		"The files of the 5 chunks from before",
		"time → 1836 = 365×3, 366, 365, 1×10",
		"4,758,912 values, all equal",
		" info --stats " + filepath.ToSlash(dir) + "/temperature",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
	for line := range strings.Lines(out) {
		if line = strings.TrimSuffix(line, "\n"); line != strings.TrimRight(line, " ") {
			t.Errorf("line %q ends in spaces", line)
		}
	}
	must(t, "", "grid", dir+"/temperature", "--locate", "1835,0,0")
}

func TestSnapshotChanges(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("same", "a")
	put("longer", "a")
	put("replaced", "a")
	put("removed", "a")
	put("__varve.lock", "")
	before := valuesIn(t, dir)
	put("longer", "ab")
	put("new", "a")
	put("deep/new", "a")
	put("__varve.lock", "x")
	put("other", "b")
	err := errors.Join(os.Remove(filepath.Join(dir, "removed")), os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "replaced")))
	if err != nil {
		t.Fatal(err)
	}
	after := valuesIn(t, dir)
	want := []string{"deep/new", "longer", "new", "removed", "replaced"}
	if got := slices.Sorted(before.changes(after)); !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	for range before.changes(after) {
		break // stopping early is no fault
	}
}

func TestClassify(t *testing.T) {
	d := &demo{name: "t2m", origin: &origin{}}
	const n = 7
	tests := []struct {
		path   string
		exists bool
		want   appendFacts
	}{
		{"t2m/c/5/0", true, appendFacts{NewChunks: 1, NewBytes: n}},
		{"t2m/zarr.json", true, appendFacts{Documents: 1, DocumentBytes: n}},
		{"t2m/c/4/0", true, appendFacts{Others: 1}},
		{"t2m/c/5/0", false, appendFacts{Others: 1}},
		{"t2m/c/5", true, appendFacts{Others: 1}},
		{"zarr.json", true, appendFacts{Others: 1}},
		{"t2mx/zarr.json", true, appendFacts{Others: 1}},
	}
	for _, test := range tests {
		var got appendFacts
		after := snapshot{}
		if test.exists {
			after[test.path] = store.Entry{Size: n}
		}
		d.classify(&got, test.path, []int64{5, 1}, after)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s is %+v, want %+v", test.path, got, test.want)
		}
	}
}

func TestTemperature(t *testing.T) {
	for day := int64(0); day < 1836; day += 17 {
		for lat := range latitudes {
			for lon := range longitudes {
				if v := float64(temperature(day, lat, lon)); math.IsNaN(v) || v < 200 || v > 330 {
					t.Fatalf("%v K on day %d at %d, %d", v, day, lat, lon)
				}
			}
		}
	}
	if summer, winter := temperature(200, 30, 0), temperature(20, 30, 0); summer <= winter {
		t.Errorf("%v K in July, %v K in January", summer, winter)
	}
}

// TestDemoInAStore makes the archive in a store that is no directory, as one of objects.
func TestDemoInAStore(t *testing.T) {
	racing.Skip(t)
	s := memstore.New()
	store.Register("demonstration", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		_, path, _ := strings.Cut(location, "://")
		path, _, _ = strings.Cut(path, "?")
		at, err := store.ParsePath(strings.TrimRight(path, "/"))
		return s, at, err
	})
	var facts demoFacts
	const location = "demonstration://bucket/some"
	if err := json.Unmarshal([]byte(must(t, "", "demo", "--json", location+"/")), &facts); err != nil {
		t.Fatal(err)
	}
	out := must(t, "", "demo", location+"2?endpoint=http://h:1&secret=word")
	if !strings.Contains(out, "tree '"+location+"2?endpoint=http://h:1'") || strings.Contains(out, "word") {
		t.Errorf("it prints %s", out)
	}
	if facts.Path != location+"/temperature" || facts.Values != 1836*36*72 || facts.After.Chunks != 15 {
		t.Errorf("%+v", facts)
	}
	// What is there now stays.
	for _, args := range [][]string{{location}, {location + "/temperature/below", "--from", location + "/temperature"}} {
		if _, _, status := execute(t, "", append([]string{"demo"}, args...)...); status == 0 {
			t.Errorf("demo %s: no error", args)
		}
	}
}

// TestRetyped checks that the commands that the demonstration prints have the options of
// the location, and none that is a secret.
func TestRetyped(t *testing.T) {
	for query, c := range map[string]struct {
		want    string
		secrets bool
	}{
		"":                                        {"s3://b/d/x", false},
		"?endpoint=http://h:9000&region=r":        {"'s3://b/d/x?endpoint=http://h:9000&region=r'", false},
		"?AWS_ENDPOINT=http%3A%2F%2Fh&key=K":      {"'s3://b/d/x?AWS_ENDPOINT=http%3A%2F%2Fh'", true},
		"?secret_access_key=S&anon=true":          {"'s3://b/d/x?anon=true'", true},
		"?endpoint=http://u:secret@h":             {"s3://b/d/x", true},
		"?endpoint=http%3A%2F%2Fu%3Asecret%40h":   {"s3://b/d/x", true},
		"?new_option=S&azure_storage_sas_token=S": {"s3://b/d/x", true},
		"?region='$(S)'":                          {"'s3://b/d/x?region=%27$(S)%27'", false},
	} {
		ctx, _ := driver.Conceal(t.Context(), "s3://b/d"+query)
		if got, secrets := retyped(ctx, "s3://b/d/x"); got != c.want || secrets != c.secrets {
			t.Errorf("%s: %s, secrets %t; want %s, %t", query, got, secrets, c.want, c.secrets)
		}
	}
	if got, _ := retyped(t.Context(), "a dir/x"); got != "a dir/x" {
		t.Errorf("a path: %s", got)
	}
}
