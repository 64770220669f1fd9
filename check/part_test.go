// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// described returns all of a report, one line for each thing.
func described(r *check.Report) (lines []string) {
	lines = append(lines, fmt.Sprintf("%+v, %v", r.Checked, r.Temporary))
	for _, f := range r.Findings {
		line := fmt.Sprintf("%s %q %q %v: %s; %s", f.Kind, f.Path, f.Key, f.Chunk, f.Message, f.Repair)
		if f.Err != nil {
			line += fmt.Sprintf("; %s %q %t", zarr.KindOf(f.Err), f.Err, errors.Is(f.Err, zarr.ErrCorrupt))
		}
		lines = append(lines, line)
	}
	for _, a := range r.Arrays {
		lines = append(lines, fmt.Sprintf("%q %+v %t %q %t %v %v %v %d %d %q %v",
			a.Path, a.Counts, a.Sharded, a.Disorder, a.Times, a.Pending, a.PendingErr, a.Replaced, a.Orphans, a.OrphanBytes, a.Notes, a.Err))
		for _, f := range a.Found {
			lines = append(lines, fmt.Sprintf("  %v %q %v %d %d %t %q", f.Shard, f.Key, f.Inner, f.Off, f.Len, f.Shared, f))
		}
	}
	return lines
}

// parted returns the parts of a check, in random order, some of them twice.
func parted(t *testing.T, r *rand.Rand, open func() zarr.Node, of int64, how check.Options) [][]byte {
	t.Helper()
	var parts [][]byte
	for task := range of {
		for range 1 + r.IntN(5)/4 {
			p, err := check.RunPart(t.Context(), open(), transfer.Share{Task: task, Of: of}, &how)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, same(t, p))
		}
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

// same returns a part, which stays the same if it is read and written again.
func same(t *testing.T, part []byte) []byte {
	t.Helper()
	if again := fixture.Must(check.Recoded(part)); string(again) != string(part) {
		t.Fatalf("%s\nbecomes %s", part, again)
	}
	return part
}

// jungle makes a store at random: groups of arrays of one format, some of them sharded,
// with a coordinate, and with values that are missing or damaged.
func jungle(t *testing.T, r *rand.Rand) memtest.Store {
	t.Helper()
	ctx, s, format := t.Context(), memtest.New(), 2+r.IntN(2)
	root := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: format}))
	days := fixture.Must(root.At("t").CreateArray(ctx, zarr.Spec{
		Format: format, Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(3), DimensionNames: []string{"t"},
		Attributes: map[string]any{"units": "days since 2024-01-01"},
	}, nil))
	if err := zarr.Write(ctx, days, nil, []int32{0, 1, 1, 2}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 + r.IntN(5) {
		spec := zarr.Spec{Format: format, Shape: []int64{r.Int64N(12), 1 + r.Int64N(12)}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2)}
		if r.IntN(3) > 0 {
			spec.DimensionNames = []string{"y", "x"}
		}
		if format == 3 && r.IntN(2) == 0 {
			spec.Codecs = append(fixture.Plain(), codec.CRC32C())
		}
		if format == 3 && r.IntN(2) == 0 {
			spec.Chunks, spec.InnerChunks = grid.Chunks(4, 4), grid.Chunks(2, 1)
		}
		name := fmt.Sprintf("%s/a%d", []string{"g", "h", "g/deep"}[r.IntN(3)], i)
		a := fixture.Must(root.At(name).CreateArray(ctx, spec, nil))
		if err := zarr.Fill(ctx, a, nil, int32(1+i)); err != nil {
			t.Fatal(err)
		}
	}
	if r.IntN(2) == 0 {
		if err := root.Consolidate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	keys := keysOf(t, s)
	for range r.IntN(20) {
		key := keys[r.IntN(len(keys))]
		if !isDocument(key) || strings.Contains(key, "/") && r.IntN(4) == 0 {
			spoilAtRandom(t, r, s, key)
		}
	}
	return s
}

func keysOf(t *testing.T, s store.Store) (keys []string) {
	t.Helper()
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Name)
	}
	slices.Sort(keys)
	return keys
}

// isDocument reports whether a key is not that of a chunk.
func isDocument(key string) bool {
	return strings.HasSuffix(key, ".json") || strings.Contains(key, ".z") || strings.Contains(key, "__varve")
}

// watched is a store in which some values cannot be read, and which notes what was read.
type watched struct {
	store.Store
	mu     sync.Mutex
	broken map[string]bool
	read   map[string]int
}

// watch returns a view of a store, whose values with the given keys cannot be read.
func watch(s memtest.Store, broken ...string) *watched {
	w := &watched{broken: map[string]bool{}, read: map[string]int{}}
	for _, key := range broken {
		w.broken[key] = true
	}
	w.Store = stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		key := op.Key.String()
		if op.Name == "List" {
			return nil
		}
		if w.read[key]++; w.broken[key] {
			return errors.New("no answer for " + key)
		}
		return nil
	}})
	return w
}

// TestParts checks random stores in parts. The report is that of a check in one.
func TestParts(t *testing.T) {
	findings := 0
	for i := range fixture.Soaked(t, 40, 1000) {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		s := jungle(t, r)
		how := check.Options{Fast: r.IntN(4) == 0, Complete: r.IntN(2) == 0, MostFaults: []int{0, 1, 3}[r.IntN(3)]}
		var broken []string
		for _, key := range keysOf(t, s) {
			if !isDocument(key) && !strings.HasPrefix(key, "t/") && r.IntN(20) == 0 {
				broken = append(broken, key)
			}
		}
		view, path := watch(s, broken...), ""
		if there, err := store.Exists(t.Context(), s, store.MustKey("t/zarr.json")); there && err == nil && r.IntN(5) == 0 {
			path = "t"
		}
		open := func() zarr.Node { return fixture.Must(zarr.At(view.Store, path).Open(t.Context(), nil)) }
		if _, err := zarr.At(view.Store, path).Open(t.Context(), nil); err != nil {
			continue // its document is damaged
		}
		want, err := check.Run(t.Context(), open(), &how)
		if err != nil {
			continue
		}
		of := []int64{1, 2, 3, 7, 40}[r.IntN(5)]
		how.Parts = parted(t, r, open, of, how)
		got, err := check.Run(t.Context(), open(), &how)
		if err != nil || !slices.Equal(described(got), described(want)) {
			t.Fatalf("store %d in %d parts: %v\ngot  %s\nwant %s", i, of, err, strings.Join(described(got), "\n"), strings.Join(described(want), "\n"))
		}
		findings += len(got.Findings)
	}
	if findings < 100 {
		t.Errorf("only %d findings in all stores", findings)
	}
}

// TestPartsDivide checks that each stored chunk is read by exactly one part, and that Run
// reads no chunk then.
func TestPartsDivide(t *testing.T) {
	s := memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))
	for name, shape := range map[string][]int64{"a": {7, 5, 3}, "b": {40, 30}, "c": {1}, "d": {}} {
		cuts := make([]grid.Cut, len(shape))
		for i := range cuts {
			cuts[i] = grid.Every(1)
		}
		a := fixture.Must(g.At(name).CreateArray(t.Context(), zarr.Spec{Shape: shape, Type: dtype.Int8, Chunks: cuts}, nil))
		if err := zarr.Fill(t.Context(), a, nil, int8(3)); err != nil {
			t.Fatal(err)
		}
	}
	var chunks []string
	for _, key := range keysOf(t, s) {
		if !isDocument(key) {
			chunks = append(chunks, key)
		}
	}
	view := watch(s)
	var parts [][]byte
	for task := range int64(5) {
		part := fixture.Must(check.RunPart(t.Context(), reopened(t, view.Store), transfer.Share{Task: task, Of: 5}, nil))
		if n := fixture.Must(check.CountsOf(part)).Chunks; n < int64(len(chunks))/5-3 || n > int64(len(chunks))/5+4 {
			t.Errorf("part %d has %d of %d chunks", task, n, len(chunks))
		}
		parts = append(parts, part)
	}
	for _, key := range chunks {
		if view.read[key] != 1 {
			t.Errorf("%s was read %d times", key, view.read[key])
		}
	}
	clear(view.read)
	report := fixture.Must(check.Run(t.Context(), reopened(t, view.Store), &check.Options{Parts: parts}))
	if n := report.Checked.Chunks; n != int64(len(chunks)) {
		t.Errorf("%d chunks, want %d", n, len(chunks))
	}
	for _, key := range chunks {
		if view.read[key] != 0 {
			t.Errorf("%s was read again", key)
		}
	}
}

// TestPartsProgress calls the progress of a part for each of its chunks.
func TestPartsProgress(t *testing.T) {
	_, g := pair(t)
	var calls []string
	how := &check.Options{Progress: func(path string, done, total int64) { calls = append(calls, fmt.Sprint(path, done, total)) }}
	for task := range int64(2) {
		fixture.Must(check.RunPart(t.Context(), g, transfer.Share{Task: task, Of: 2}, how))
	}
	slices.Sort(calls)
	if want := []string{"x0 1", "x0 2", "x1 1", "x1 2", "x2 2", "y0 1", "y0 2", "y1 1", "y1 2", "y2 2"}; !slices.Equal(calls, want) {
		t.Errorf("%q", calls)
	}
}

// TestPartsOfManyFaults lists the first faults, whatever part has them.
func TestPartsOfManyFaults(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(ctx, fixture.Every(2000, 1), nil))
	for i := range 2000 {
		fixture.Put(t, s, fmt.Sprintf("c/%d", i), "x")
	}
	open := func() zarr.Node { return fixture.Must(zarr.At(s, "").Open(ctx, nil)) }
	for _, most := range []int{0, 1, 150, 2000, 5000} {
		how := check.Options{MostFaults: most}
		want := fixture.Must(check.Run(ctx, a, &how))
		if n := min(2000, max(1, most)); most > 0 && len(want.Arrays[0].Found) != n || want.Checked.Faults != 2000 {
			t.Errorf("%d faults of %d are listed, want %d", len(want.Arrays[0].Found), want.Checked.Faults, n)
		}
		how.Parts = parted(t, rand.New(rand.NewPCG(1, uint64(most))), open, 13, how)
		got := fixture.Must(check.Run(ctx, open(), &how))
		if !slices.Equal(described(got), described(want)) {
			t.Errorf("at most %d: the reports differ", most)
		}
		for i, f := range got.Arrays[0].Found {
			if f.Shard[0] != int64(i) {
				t.Fatalf("at most %d: fault %d is of chunk %v", most, i, f.Shard)
			}
		}
	}
}

// TestPartsOutdated changes a group after its parts were checked. What has changed is
// checked whole, and nothing else.
func TestPartsOutdated(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	create := func(name string) {
		a := fixture.Must(g.At(name).CreateArray(ctx, fixture.Every(24, 2), nil))
		if err := zarr.Fill(ctx, a, nil, int32(5)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"deleted", "grown", "kept", "noted", "replaced"} {
		create(name)
	}
	view := watch(s)
	open := func() zarr.Node { return reopened(t, view.Store) }
	parts := parted(t, rand.New(rand.NewPCG(3, 4)), open, 4, check.Options{})
	write := fixture.Must(zarr.At(s, "").OpenGroup(ctx, &zarr.Options{Write: true}))
	if err := write.At("deleted").Delete(ctx, nil); err != nil {
		t.Fatal(err)
	}
	grown := fixture.Must(write.At("grown").OpenArray(ctx, nil))
	if err := zarr.Append(ctx, grown, 0, []int32{1, 2, 3}, nil); err != nil {
		t.Fatal(err)
	}
	noted := fixture.Must(write.At("noted").OpenArray(ctx, nil))
	if err := noted.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"k": 1}`), nil }); err != nil {
		t.Fatal(err)
	}
	if err := write.At("replaced").Delete(ctx, nil); err != nil {
		t.Fatal(err)
	}
	a := fixture.Must(g.At("replaced").CreateArray(ctx, fixture.Every(24, 3), nil))
	if err := zarr.Fill(ctx, a, nil, int32(6)); err != nil {
		t.Fatal(err)
	}
	create("new")
	for _, name := range []string{"grown", "new", "noted", "replaced"} {
		spoil(t, s, name+"/c/3", func(b []byte) []byte { return b[:1] })
	}
	want := fixture.Must(check.Run(ctx, open(), nil))
	clear(view.read)
	got := fixture.Must(check.Run(ctx, open(), &check.Options{Parts: parts}))
	if !slices.Equal(described(got), described(want)) || len(want.Findings) != 4 {
		t.Errorf("got %q\nwant %q", described(got), described(want))
	}
	for key := range view.read {
		if strings.HasPrefix(key, "kept/c/") {
			t.Errorf("%s was read", key)
		}
	}
}

// TestPartsUnseen has a part that could not open an array. Run checks that one whole.
func TestPartsUnseen(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	a := fixture.Must(g.At("x").CreateArray(ctx, fixture.Every(8, 2), nil))
	if err := zarr.Fill(ctx, a, nil, int32(5)); err != nil {
		t.Fatal(err)
	}
	first := fixture.Must(check.RunPart(ctx, reopened(t, s), transfer.Share{Of: 2}, nil))
	second, err := check.RunPart(ctx, reopened(t, watch(s, "x/zarr.json").Store), transfer.Share{Task: 1, Of: 2}, nil)
	if second == nil || err == nil || fixture.Must(check.CountsOf(second)) != (check.Counts{}) {
		t.Fatalf("%s, %v", second, err)
	}
	report := fixture.Must(check.Run(ctx, reopened(t, s), &check.Options{Parts: [][]byte{first, same(t, second)}}))
	if report.Checked.Chunks != 4 || len(report.Findings) > 0 {
		t.Errorf("%+v", report)
	}
}

// TestPartsUnread has a part in which more chunks in a row than are permitted cannot be
// read. The array is a finding, as without parts.
func TestPartsUnread(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	a := fixture.Must(zarr.At(s, "x").CreateArray(ctx, fixture.Every(400, 1), nil))
	if err := zarr.Fill(ctx, a, nil, int32(1)); err != nil {
		t.Fatal(err)
	}
	var broken []string
	for i := range 200 {
		broken = append(broken, fmt.Sprintf("x/c/%d", i))
	}
	view := watch(s, broken...)
	open := func() zarr.Node { return reopened(t, view.Store) }
	parts := parted(t, rand.New(rand.NewPCG(5, 6)), open, 2, check.Options{})
	report := fixture.Must(check.Run(ctx, open(), &check.Options{Parts: parts}))
	if c := report.Checked; !slices.Equal(kinds(report), []string{"unreadable x"}) || c.Unchecked != 1 || c.Chunks != 0 || !strings.Contains(report.Findings[0].Message, "no answer for x/c/") {
		t.Errorf("%+v, %v", c, report.Findings)
	}
	// Of an array itself, it is an error.
	alone := fixture.Must(zarr.At(view.Store, "x").Open(ctx, nil))
	for task := range int64(2) {
		if p, err := check.RunPart(ctx, alone, transfer.Share{Task: task, Of: 2}, nil); (p == nil) != (err != nil) {
			t.Errorf("%s, %v", p, err)
		}
	}
}

// TestPartsRefused passes parts that do not make a whole.
func TestPartsRefused(t *testing.T) {
	ctx := t.Context()
	_, g := pair(t)
	part := func(task, of int64, how *check.Options) []byte {
		return fixture.Must(check.RunPart(ctx, g, transfer.Share{Task: task, Of: of}, how))
	}
	fast := &check.Options{Fast: true}
	one := part(0, 1, nil)
	for words, how := range map[string]check.Options{
		"part 1 of 3 is missing: ":         {Parts: [][]byte{part(2, 3, nil), part(0, 3, nil)}},
		"part 0 of 9 is missing, and 7 mo": {Parts: [][]byte{part(3, 9, nil)}},
		"do not belong together":           {Parts: [][]byte{part(0, 2, nil), part(1, 3, nil)}},
		"Fast true":                        {Parts: [][]byte{part(0, 1, fast)}},
		"Fast false":                       {Parts: [][]byte{one}, Fast: true},
		"no sample":                        {Parts: [][]byte{one}, Sample: 0.5},
		"Parts[1] is not":                  {Parts: [][]byte{one, nil}},
		"Parts[0] is not":                  {Parts: [][]byte{{}}},
	} {
		if report, err := check.Run(ctx, g, &how); report != nil || !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	for _, s := range []transfer.Share{{Task: -1, Of: 3}, {Task: 3, Of: 3}, {Task: 1}, {Of: -1}} {
		if p, err := check.RunPart(ctx, g, s, nil); p != nil || !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%v: %s, %v", s, p, err)
		}
	}
	for _, how := range []check.Options{{Sample: 0.1}, {Parts: [][]byte{one}}} {
		if p, err := check.RunPart(ctx, g, transfer.Share{}, &how); p != nil || !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%+v: %s, %v", how, p, err)
		}
	}
	if p, err := check.RunPart(ctx, nil, transfer.Share{}, nil); p != nil || !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("%s, %v", p, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if p, err := check.RunPart(ended, g, transfer.Share{}, nil); p != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v", p, err)
	}
}

// TestPartText reads texts that are not parts.
func TestPartText(t *testing.T) {
	for text, want := range map[string]error{
		`{}`: zarr.ErrInvalidArgument, `null`: zarr.ErrInvalidArgument, `[]`: zarr.ErrInvalidArgument, `{"varve_check_part": 2}`: zarr.ErrUnsupported,
		`{"varve_check_part": 1, "task": 2, "of": 2}`:                                                                                                  zarr.ErrInvalidArgument,
		`{"varve_check_part": 1, "of": 1, "arrays": [{"path": "x", "counts": {"bytes": -1}}]}`:                                                         zarr.ErrInvalidArgument,
		`{"varve_check_part": 1, "of": 1, "arrays": [{"path": "x"}, {"path": "x"}]}`:                                                                   zarr.ErrInvalidArgument,
		`{"varve_check_part": 1, "of": 1, "arrays": [{"path": "x", "error": {"kind": "other"}}]}`:                                                      zarr.ErrInvalidArgument,
		`{"varve_check_part": 1, "of": 1, "arrays": [{"path": "x", "faults": [{"chunk": [1]}]}]}`:                                                      zarr.ErrInvalidArgument,
		`{"varve_check_part": 1, "of": 1, "arrays": [{"path": "x", "counts": {"bytes": 9223372036854775807}}, {"path": "y", "counts": {"bytes": 1}}]}`: zarr.ErrOverflow,
	} {
		if _, err := check.Recoded([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzPart reads parts. What can be read can be written, and Run survives it.
func FuzzPart(f *testing.F) {
	s := memtest.New()
	a := fixture.Must(zarr.At(s, "").CreateArray(context.Background(), fixture.Every(4, 2), nil))
	part := fixture.Must(check.RunPart(context.Background(), a, transfer.Share{}, nil))
	f.Add(part)
	fault := `"faults":[{"chunk":[0],"key":"c/0","inner":[[1]],"offset":1,"length":2,"error":{"kind":"checksum","message":"m"}}]`
	f.Add([]byte(strings.Replace(string(part), `"counts":{`, fault+`,"counts":{"faults":9,`, 1)))
	f.Add([]byte(`{"varve_check_part":1,"task":0,"of":2,"arrays":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		part, err := check.Recoded(text)
		if err != nil {
			return
		}
		same(t, part)
		report, err := check.Run(t.Context(), a, &check.Options{Parts: [][]byte{part}, MostFaults: 2})
		if (report == nil) != (err != nil) {
			t.Errorf("%+v, %v", report, err)
		}
		if report != nil && len(report.Findings) > 4 {
			t.Errorf("%d findings", len(report.Findings))
		}
	})
}
