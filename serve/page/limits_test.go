// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve/page"
	"varve.dev/zarr/statistics"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// folder returns a folder with a group.
func folder(t testing.TB) (string, *zarr.Location) {
	t.Helper()
	dir := t.TempDir()
	s, err := filestore.Open(filepath.Join(dir, "d"), &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(s) })
	at := zarr.At(s, "")
	if _, err := at.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	return dir, at
}

// TestHiddenNodes asks for nodes that nobody may see.
func TestHiddenNodes(t *testing.T) {
	dir, at := folder(t)
	spec := zarr.Spec{Shape: []int64{3, 3}, Type: dtype.Float32, DimensionNames: []string{"y", "x"}}
	create(t, at.At("a"), spec)
	create(t, at.At(".secret"), spec)
	outside := filepath.Join(dir, "outside")
	if err := os.CopyFS(outside, os.DirFS(filepath.Join(dir, "d", "a"))); err != nil {
		t.Fatal(err)
	}
	// A member, and a coordinate of another array, that are links out of the node.
	for _, name := range []string{"link", "y"} {
		if err := os.Symlink(outside, filepath.Join(dir, "d", name)); err != nil {
			t.Skip(err)
		}
	}
	h := mounted(t, at, nil)
	nodes := []string{"d/.secret", "d/__varve", "d/a/__varve/x", "d/link", "d/../outside", "d/a/..", "d/./a", "outside", "", "/", "d//a", "d/a\\b", "d/x.vz.json/a", "d/" + strings.Repeat("x", 6000), "d/\x00"}
	for _, node := range nodes {
		for _, question := range []string{"array", "group", "members", "plane", "value", "rows", "series", "chunks", "missing", "cost", "plan", "coordinate"} {
			if w := ask(t, h, question, "node", node); w.Code == http.StatusOK || w.Code >= 500 {
				t.Errorf("%s of %q: %d %.200s", question, node, w.Code, w.Body)
			} else if text := w.Body.String(); strings.Contains(text, dir) || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s of %q tells %s", question, node, text)
			}
		}
	}
	for _, params := range [][]string{{}, {"find", "e"}, {"find", "LIN"}} {
		if text := fmt.Sprint(answerTo(t, h, "members", append([]string{"node", "d"}, params...)...)["members"]); strings.Contains(text, "secret") || strings.Contains(text, "link") {
			t.Errorf("members %v", text)
		}
	}
	f := answerTo(t, h, "array", "node", "d/a")
	if c := f["axes"].([]any)[0].(map[string]any)["coordinate"]; c != nil {
		t.Errorf("a coordinate outside of the node: %v", c)
	}
}

// TestMembers lists many members page by page, and counts what is opened for a page.
func TestMembers(t *testing.T) {
	at := group(t)
	const n = 100_000
	doc := `{"zarr_format":3,"node_type":"group","attributes":{}}`
	changes := func(i int) (string, string) { return fmt.Sprintf("m%d/zarr.json", i), doc }
	for i := range n {
		key, value := changes(i)
		put(t, at.Store(), key, value)
	}
	gets := new(atomic.Int64)
	h := mounted(t, at.Wrapped(func(s store.Store) store.Store { return &counting{s, gets} }), nil)
	seen, after := 0, ""
	for page := range 3 {
		gets.Store(0)
		m := answerTo(t, h, "members", "node", "d", "after", after, "limit", "200")
		for _, one := range m["members"].([]any) {
			if name := one.(map[string]any)["name"]; name != fmt.Sprintf("m%d", seen) {
				t.Fatalf("member %d is %v", seen, name)
			}
			seen++
		}
		if after = m["next"].(string); seen != 200*(page+1) || gets.Load() > 200*4+4 {
			t.Fatalf("%d seen, next %q, %d requests", seen, after, gets.Load())
		}
	}
	if g := answerTo(t, h, "group", "node", "d"); g["members"] != float64(n) {
		t.Errorf("%v", g)
	}
	m := answerTo(t, h, "members", "node", "d", "find", "M1", "limit", "3")
	if len(m["members"].([]any)) != 3 || m["complete"] != false {
		t.Errorf("%v", m)
	}
}

// counting counts the reads of a store.
type counting struct {
	store.Store
	gets *atomic.Int64
}

func (c *counting) Unwrap() store.Store { return c.Store }

func (c *counting) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, key, q, dst)
}

func (c *counting) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, c.Store, dir, how)
}

// TestKept asks twice for a plane: the second time no chunk is read, unless it was
// written meanwhile.
func TestKept(t *testing.T) {
	at := group(t)
	a := create(t, at.At("a"), zarr.Spec{Shape: []int64{8, 8}, Type: dtype.Float32, Chunks: grid.Chunks(4, 4)})
	ones := make([]float32, 64)
	for i := range ones {
		ones[i] = 1
	}
	write(t, a, nil, ones)
	gets := new(atomic.Int64)
	h := mounted(t, at.Wrapped(func(s store.Store) store.Store { return &counting{s, gets} }), nil)
	draw(t, h, "node", "d/a")
	first := gets.Swap(0)
	d := draw(t, h, "node", "d/a", "box", "0:5,0:5")
	if again := gets.Swap(0); first < again+4 || again > 3 || d.Chunks != 4 {
		t.Errorf("%d requests, then %d", first, again)
	}
	write(t, a, [][2]int64{{0, 1}, {0, 1}}, []float32{5})
	// A far store is asked again at once if the document has changed.
	if err := a.SetAttribute(t.Context(), "x", 1); err != nil {
		t.Fatal(err)
	}
	if d := draw(t, h, "node", "d/a"); d.numbers[0] != 5 || gets.Load() < 2 {
		t.Errorf("%v after %d requests", d.numbers[0], gets.Load())
	}
}

// TestLevels draws a plane from the levels of a pyramid.
func TestLevels(t *testing.T) {
	at := group(t)
	a := create(t, at.At("v"), zarr.Spec{Shape: []int64{2, 64, 96}, Type: dtype.Float32, Chunks: grid.Chunks(1, 16, 16), DimensionNames: []string{"t", "y", "x"}})
	values := make([]float32, 2*64*96)
	for i := range values {
		values[i] = float32(i/96%64*1000 + i%96 + 1)
	}
	write(t, a, nil, values)
	if _, err := pyramid.Make(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	h := mounted(t, at, nil)
	list := answerTo(t, h, "array", "node", "d/v")["levels"].([]any)
	if len(list) == 0 {
		t.Fatal("no levels")
	}
	first := list[0].(map[string]any)
	if fmt.Sprint(first["factors"], first["shape"]) != "[1 2 2] [2 32 48]" {
		t.Fatalf("%v", first)
	}
	node := first["node"].(string)
	below, err := at.At(strings.TrimPrefix(node, "d/")).OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := zarr.Read[float32](t.Context(), below, nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		side := func(n int64, label string) (int64, int64) {
			from := rapid.Int64Range(0, n-1).Draw(t, label)
			return from, rapid.Int64Range(from+1, n).Draw(t, label)
		}
		y0, y1 := side(64, "y")
		x0, x1 := side(96, "x")
		height, width := max(1, (y1-y0)/3), max(1, (x1-x0)/3)
		w := ask(t, h, "plane", "node", "d/v", "at", "1,-,-", "box", fmt.Sprintf("%d:%d,%d:%d", y0, y1, x0, x1), "size", fmt.Sprintf("%d,%d", height, width))
		d, err := parsePlane(w.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if int64(d.Height) > height || int64(d.Width) > width || d.Box[0] > y0 || d.Box[0]+int64(d.Height)*d.Step[0] < y1 || d.Box[2] > x0 || d.Box[2]+int64(d.Width)*d.Step[1] < x1 {
			t.Fatalf("%d:%d,%d:%d in %d,%d: %+v", y0, y1, x0, x1, height, width, d)
		}
		if d.Level != node {
			return
		}
		for r := range int64(d.Height) {
			for c := range int64(d.Width) {
				if got, want := d.numbers[r*int64(d.Width)+c], all.At(1, (d.Box[0]+r*d.Step[0])/2, (d.Box[2]+c*d.Step[1])/2); got != want || d.Method != "level" || d.Exact {
					t.Fatalf("pixel %d,%d of %+v is %v, want %v", r, c, d, got, want)
				}
			}
		}
	})
}

// TestMemory draws chunks that are larger than the memory.
func TestMemory(t *testing.T) {
	at := group(t)
	whole := create(t, at.At("large"), zarr.Spec{Shape: []int64{3000, 1000}, Type: dtype.Float32, Chunks: grid.Chunks(3000, 1000)})
	values := make([]float32, 3_000_000)
	for i := range values {
		values[i] = float32(i)
	}
	write(t, whole, nil, values)
	h := mounted(t, at, &page.Options{Memory: 16 << 20})
	d := draw(t, h, "node", "d/large", "size", "30,10")
	if d.states[299] != 6 || len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Message, "--memory") {
		t.Errorf("%v %v", d.states, d.Problems)
	}
	h = mounted(t, at, &page.Options{Memory: 40 << 20})
	d = draw(t, h, "node", "d/large", "size", "30,10", "y", "1", "x", "0")
	if d.states[299] != 0 || d.numbers[299] != float32((9*300)*1000+29*34) && d.Height != 30 {
		t.Errorf("%+v", d)
	}
	for r := range d.Height {
		for c := range d.Width {
			if want := float32(int64(c)*d.Step[1]*1000 + int64(r)*d.Step[0]); d.numbers[r*d.Width+c] != want {
				t.Fatalf("pixel %d,%d is %v, want %v", r, c, d.numbers[r*d.Width+c], want)
			}
		}
	}
}

// TestTogether sends many questions at the same time, of which some are cancelled.
func TestTogether(t *testing.T) {
	at := group(t)
	a := create(t, at.At("a"), zarr.Spec{Shape: []int64{200, 200}, Type: dtype.Float64, Chunks: grid.Chunks(20, 20), DimensionNames: []string{"y", "x"}})
	values := make([]float64, 40_000)
	for i := range values {
		values[i] = float64(i + 1)
	}
	write(t, a, nil, values)
	h := mounted(t, at, &page.Options{Memory: 16 << 20})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
			}
			for _, q := range []string{"plane?node=d/a&size=50,50", "plane?node=d/a&box=10:30,10:30", "array?node=d/a", "series?node=d/a&axis=1", "value?node=d/a&index=3,3", "chunks?node=d/a", "members?node=d"} {
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/@view/api/"+q, nil)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK && ctx.Err() == nil {
					t.Errorf("%s: %d %s", q, w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
}

// refusing refuses a chunk.
type refusing struct{ store.Store }

func (r *refusing) Unwrap() store.Store { return r.Store }

func (r *refusing) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if strings.HasSuffix(key.String(), "c/0/1") {
		return nil, store.Info{}, fmt.Errorf("secret place: %w", fs.ErrPermission)
	}
	return r.Store.Get(ctx, key, q, dst)
}

// TestRefused draws a plane with a chunk that may not be read.
func TestRefused(t *testing.T) {
	at := group(t)
	a := create(t, at.At("a"), zarr.Spec{Shape: []int64{2, 4}, Type: dtype.Float32, Chunks: grid.Chunks(2, 2)})
	write(t, a, nil, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	h := mounted(t, at.Wrapped(func(s store.Store) store.Store { return &refusing{s} }), nil)
	d := draw(t, h, "node", "d/a")
	if fmt.Sprint(d.states) != "[0 0 6 6 0 0 6 6]" || len(d.Problems) != 1 || strings.Contains(d.Problems[0].Message, "secret") {
		t.Errorf("%v %v", d.states, d.Problems)
	}
}

// TestStatistics draws planes and series of more chunks than are read from what is kept
// about them.
func TestStatistics(t *testing.T) {
	at := group(t)
	a := create(t, at.At("a"), zarr.Spec{Shape: []int64{60, 60}, Type: dtype.Float32, Chunks: grid.Chunks(1, 1)})
	values := make([]float32, 3600)
	for i := range values {
		values[i] = float32(i + 1)
	}
	write(t, a, nil, values)
	long := create(t, at.At("long"), zarr.Spec{Shape: []int64{3000}, Type: dtype.Float32, Chunks: grid.Chunks(1)})
	write(t, long, nil, values[:3000])
	h := mounted(t, at, nil)
	if d := draw(t, h, "node", "d/a"); d.Method != "every" || d.Exact || d.Chunks > 2048 {
		t.Errorf("without statistics: %s %t %d", d.Method, d.Exact, d.Chunks)
	}
	for _, one := range []*zarr.Array{a, long} {
		if _, err := statistics.Make(t.Context(), one, nil); err != nil {
			t.Fatal(err)
		}
	}
	h = mounted(t, at, nil)
	d := draw(t, h, "node", "d/a")
	if d.Method != "statistics" || d.Exact || d.numbers[3599] != 3600 || *d.Min != 1 || *d.Max != 3600 {
		t.Errorf("%s %t %v", d.Method, d.Exact, d.numbers[3599])
	}
	f := answerTo(t, h, "array", "node", "d/a")
	if s, is := f["statistics"].(map[string]any); !is || s["min"] != 1.0 || s["max"] != 3600.0 || s["complete"] != true {
		t.Errorf("statistics %v", f["statistics"])
	}
	s := answerTo(t, h, "series", "node", "d/long", "points", "10")
	if s["method"] != "statistics" || s["exact"] != true || fmt.Sprint(s["min"].([]any)[:2], s["max"].([]any)[9]) != "[1 301] 3000" {
		t.Errorf("series %v", s)
	}
}

// TestPlan previews rechunks.
func TestPlan(t *testing.T) {
	at := group(t)
	a := create(t, at.At("a"), zarr.Spec{Shape: []int64{9, 4}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(1, 2, 3, 3), grid.Every(4)}, DimensionNames: []string{"time", "x"}})
	write(t, a, nil, make36())
	h := mounted(t, at, nil)
	for to, want := range map[string]string{
		"compact":           "varve compact d/a --axis time --to max:",
		"regularize":        "varve regularize d/a",
		"[3,2]":             "varve rechunk d/a --chunks 3,2",
		"[[[4,2],[1,1]],4]": "varve rechunk d/a --chunks '[[4,4,1],4]'",
	} {
		p := answerTo(t, h, "plan", "node", "d/a", "to", to)
		if !strings.HasPrefix(p["command"].(string), want) || p["changes"] != true || len(p["after"].([]any)) != 2 || fmt.Sprint(p["before"]) != "[[[1 1] [2 1] [3 2]] [[4 1]]]" {
			t.Errorf("%s: %v", to, p)
		}
	}
	for _, to := range []string{"", "[]", "[3]", "[0,1]", "['x',2]", "nothing", "[[1],2]"} {
		if w := ask(t, h, "plan", "node", "d/a", "to", to); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", to, w.Code, w.Body)
		}
	}
}

func make36() []float32 {
	values := make([]float32, 36)
	for i := range values {
		values[i] = float32(i + 1)
	}
	return values
}

// TestHostile asks questions with parameters of any value.
func TestHostile(t *testing.T) {
	at := group(t)
	a := create(t, at.At("a"), zarr.Spec{Shape: []int64{9, 4}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(1, 2, 3, 3), grid.Every(4)}, DimensionNames: []string{"time", "x"}})
	write(t, a, nil, make36())
	create(t, at.At("text"), zarr.Spec{Shape: []int64{3}, Type: dtype.String})
	create(t, at.At("big"), zarr.Spec{Shape: []int64{1 << 40, 1 << 20, 3}, Type: dtype.Int8, Chunks: grid.Chunks(1<<30, 1, 3)})
	create(t, at.At("e"), zarr.Spec{Shape: []int64{0, 3}, Type: dtype.Complex64, Attributes: map[string]any{"scale_factor": "x", "flag_values": "1b", "flag_meanings": "<img>", "units": 3, "multiscales": []int{1}}})
	h := mounted(t, at, &page.Options{Memory: 16 << 20})
	questions := []string{"nodes", "members", "array", "group", "coordinate", "plane", "value", "series", "rows", "chunks", "missing", "cost", "plan", "export"}
	values := map[string][]string{
		"node": {"d", "d/a", "d/text", "d/big", "d/e", "d/nothing", "d/a/c", "x"}, "axis": {"0", "1", "2", "63"}, "y": {"0", "1", "2"}, "x": {"0", "1", "2"},
		"at": {"0,-", "-,-", "0,0,0", "8,3", "2305843009213693952,0", "-,-,2", "0,1048575,-"}, "index": {"0,0", "8,3", "0", "", "1099511627775,1,2"},
		"box": {"0:9,0:4", "3:3,1:2", "0:2305843009213693952,0:2305843009213693952", "1:2", "5:7,3:9"}, "size": {"1,1", "300,2", "4,4", "2000,2000"},
		"from": {"0", "3", "2305843009213693952"}, "to": {"5", "compact", "regularize", "[1,1]", "[9999999999,1]", "2305843009213693952", "[[[1,9223372036854775807]],1]"},
		"max": {"1", "100000"}, "limit": {"1", "100000"}, "select": {"0", "9", "99:100", "-99", "time=1.5..2.5", "::2", "time=1..3", "...", "0:3,1", "\x00", "time=\"", "[1,2]", "time=9999-99"},
		"decode": {"0", "1"}, "inner": {"1"}, "method": {"mean"}, "part": {"phase"}, "field": {"a"}, "format": {"csv", "nc", "tif"}, "find": {"a", "%"}, "after": {"a", "zz"},
	}
	names := slices.Sorted(maps.Keys(values))
	rapid.Check(t, func(t *rapid.T) {
		params := []string{"node", rapid.SampledFrom(values["node"]).Draw(t, "node")}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 6, rapid.ID).Draw(t, "names") {
			params = append(params, name, rapid.SampledFrom(values[name]).Draw(t, name))
		}
		question := rapid.SampledFrom(questions).Draw(t, "question")
		w := ask(t, h, question, params...)
		if w.Code >= 500 || w.Code != http.StatusOK && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Fatalf("%s %q: %d %.300s", question, params, w.Code, w.Body)
		}
	})
}

// TestCost compares what reading a selection is said to take with the requests of a read.
func TestCost(t *testing.T) {
	at := group(t)
	spec := zarr.Spec{Shape: []int64{24, 30}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(1, 5, 8, 10), grid.Every(7)}}
	write(t, create(t, at.At("a"), spec), nil, random(24*30))
	spec.Chunks, spec.InnerChunks = grid.Chunks(8, 10), grid.Chunks(4, 5)
	write(t, create(t, at.At("s"), spec), nil, random(24*30))
	h := mounted(t, at, nil)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "s"}).Draw(t, "name")
		y0 := rapid.Int64Range(0, 23).Draw(t, "y0")
		x0 := rapid.Int64Range(0, 29).Draw(t, "x0")
		y1, x1 := rapid.Int64Range(y0+1, 24).Draw(t, "y1"), rapid.Int64Range(x0+1, 30).Draw(t, "x1")
		var counter observe.Counter
		a, err := at.At(name).OpenArray(t.Context(), &zarr.Options{Observer: &counter})
		if err != nil {
			t.Fatal(err)
		}
		before := counter.Stats()
		if _, err := zarr.Read[float32](t.Context(), a, selection.Box{{y0, y1}, {x0, x1}}); err != nil {
			t.Fatal(err)
		}
		did := counter.Stats().Sub(before)
		w := ask(t, h, "cost", "node", "d/"+name, "select", fmt.Sprintf("%d:%d,%d:%d", y0, y1, x0, x1))
		var said struct {
			Requests, Bytes, Elements int64
			Decoded                   int64 `json:"decoded_bytes"`
			Complete                  bool
		}
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || !said.Complete {
			t.Fatalf("%s %v", w.Body, err)
		}
		reads := did.Read.Times
		if name == "a" && (said.Requests != reads || said.Bytes != did.Read.Bytes || said.Decoded != did.Codecs.Bytes) {
			t.Fatalf("%+v, and a read took %d requests, %d bytes, decoding %d", said, reads, did.Read.Bytes, did.Codecs.Bytes)
		}
		// Of shards it is an estimate.
		if name == "s" && (said.Requests > 2*reads || said.Requests*2 < reads) || said.Elements != (y1-y0)*(x1-x0) {
			t.Fatalf("%+v, and a read took %d requests and %d bytes", said, reads, did.Read.Bytes)
		}
	})
}

// random returns numbers that compress badly.
func random(n int) []float32 {
	values, r := make([]float32, n), rand.New(rand.NewPCG(1, 2))
	for i := range values {
		values[i] = r.Float32()
	}
	return values
}
