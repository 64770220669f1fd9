// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const rectilinear = `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[10,20,30],[[25,4]]]}}`

func TestGridFacts(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"rectilinear", []string{"--shape", "60,100", "--chunk-grid", rectilinear},
			`{"is_regular":false,"grid_shape":[3,4],"grid_cells":[3,4],"chunk_sizes":[[[10,1],[20,1],[30,1]],[[25,4]]],"chunk_grid":` + rectilinear + `}`},
		{"locate", []string{"--shape", "60,100", "--chunk-grid", rectilinear, "--locate", "15,40", "--chunk", "0,1"},
			`{"is_regular":false,"grid_shape":[3,4],"grid_cells":[3,4],"chunk_sizes":[[[10,1],[20,1],[30,1]],[[25,4]]],"chunk_grid":` + rectilinear + `,
			"locate":{"index":[15,40],"chunk":[1,1],"within":[5,15]},
			"chunk":{"index":[0,1],"start":[0,25],"stop":[10,50],"shape":[10,25],"encoded_shape":[10,25],"is_boundary":false}}`},
		{"boundary", []string{"--shape", "60", "--chunk-grid", `{"name":"regular","configuration":{"chunk_shape":[25]}}`, "--chunk", "2"},
			`{"is_regular":true,"grid_shape":[3],"grid_cells":[3],"chunk_sizes":[[[25,2],[10,1]]],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[25]}},
			"chunk":{"index":[2],"start":[50],"stop":[60],"shape":[10],"encoded_shape":[25],"is_boundary":true}}`},
		{"cell beyond", []string{"--shape", "5", "--chunk-grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,4,4]]}}`, "--chunk", "2"},
			`{"is_regular":false,"grid_shape":[2],"grid_cells":[3],"chunk_sizes":[[[4,1],[1,1]]],
			"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[4,3]]]}},"chunk":null}`},
		{"rank 0", []string{"--shape", "", "--chunk-grid", `{"name":"regular","configuration":{"chunk_shape":[]}}`, "--locate", "", "--chunk", ""},
			`{"is_regular":true,"grid_shape":[],"grid_cells":[],"chunk_sizes":[],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
			"locate":{"index":[],"chunk":[],"within":[]},
			"chunk":{"index":[],"start":[],"stop":[],"shape":[],"encoded_shape":[],"is_boundary":false}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := decode(t, must(t, "", append([]string{"grid", "--json"}, test.args...)...))
			if want := decode(t, test.want); !reflect.DeepEqual(got, want) {
				text, _ := json.Marshal(got)
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

// TestGridNoChunk checks that an index without a chunk is null and not an error.
func TestGridNoChunk(t *testing.T) {
	for _, index := range []string{"3,0", "-1,0", "0", "0,0,0", ""} {
		got := decode(t, must(t, "", "grid", "--json", "--shape", "60,100", "--chunk-grid", rectilinear, "--chunk", index))
		if c, ok := got["chunk"]; !ok || c != nil {
			t.Errorf("chunk %q is %v", index, c)
		}
	}
}

func TestGridFailures(t *testing.T) {
	described := []string{"--shape", "60,100", "--chunk-grid", rectilinear}
	tests := []struct {
		name   string
		args   []string
		status int
		kind   string
	}{
		{"outside", append(described, "--locate", "60,0"), 1, "invalid-argument"},
		{"negative", append(described, "--locate", "-1,0"), 1, "invalid-argument"},
		{"rank", append(described, "--locate", "1"), 1, "invalid-argument"},
		{"no number", append(described, "--chunk", "a"), 2, "invalid-argument"},
		{"uncovered", []string{"--shape", "61,100", "--chunk-grid", rectilinear}, 1, "invalid-argument"},
		{"no index", append(described, "--locate", "a"), 2, "invalid-argument"},
		{"no JSON", []string{"--shape", "60", "--chunk-grid", "{"}, 2, "invalid-argument"},
		{"unknown grid", []string{"--shape", "60", "--chunk-grid", `{"name":"hexagonal"}`}, 1, "unsupported"},
		{"overflow", []string{"--shape", "1", "--chunk-grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[9223372036854775807,2]]]}}`}, 1, "overflow"},
		{"missing node", []string{"testdata/none.zarr"}, 1, "not-found"},
		{"group", []string{"testdata/group_consolidated.zarr"}, 1, "invalid-argument"},
		{"axis beyond", []string{"testdata/rect_2d.zarr", "--axes", "2"}, 1, "invalid-argument"},
		{"axis twice", []string{"testdata/rect_2d.zarr", "--axes", "1,1"}, 2, "invalid-argument"},
		{"three axes", []string{"testdata/rect_2d.zarr", "--axes", "1,0,1"}, 2, "invalid-argument"},
		{"nothing", nil, 2, "invalid-argument"},
		{"shape alone", []string{"--shape", "60"}, 2, "invalid-argument"},
		{"both", append(described, "testdata/rect_2d.zarr"), 2, "invalid-argument"},
		{"two documents", append(described, "--svg", "-"), 2, "invalid-argument"},
		{"no file", append(described, "--svg", ""), 2, "invalid-argument"},
		{"no folder", append(described, "--svg", "testdata/none/x.svg"), 1, "not-found"},
		{"picture of nothing", append(described, "--svg", "testdata/none.svg", "--locate", "60,0"), 1, "invalid-argument"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, errs, status := execute(t, "", append([]string{"grid", "--json"}, test.args...)...)
			if out != "" || status != test.status {
				t.Fatalf("status %d, want %d; printed %q", status, test.status, out)
			}
			if got := decode(t, errs)["error"].(map[string]any)["kind"]; got != test.kind {
				t.Errorf("kind %v, want %s: %s", got, test.kind, errs)
			}
		})
	}
}

func TestGridDrawing(t *testing.T) {
	out := must(t, "", "grid", "testdata/rect_2d.zarr", "--locate", "15,40", "--chunk", "0,1")
	for _, part := range []string{
		"testdata/rect_2d.zarr: 60 × 100 in 3 × 4 chunks, rectilinear",
		"axis 0 ↓  60 = 10, 20, 30",
		"┃▒▒▒▒▒▒▒│",
		"▒ stored",
		"element (15, 40) is in chunk (1, 1), at (5, 15) within it",
		"chunk (0, 1) holds the elements [0:10, 25:50], shape 10 × 25",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
	plain := must(t, "", "grid", "--ascii", "--shape", "60", "--chunk-grid", `{"name":"regular","configuration":{"chunk_shape":[25]}}`, "--chunk", "2")
	if !strings.Contains(plain, "stored with shape 25") || !strings.Contains(plain, "+=======+") {
		t.Error(plain)
	}
	one := must(t, "", "grid", "--shape", "60", "--chunk-grid", `{"name":"regular","configuration":{"chunk_shape":[60]}}`)
	if !strings.Contains(one, "60 in 1 chunk, regular") {
		t.Error(one)
	}
	busy := must(t, "", "grid", "--shape", "60,60,60", "--chunk-grid", `{"name":"regular","configuration":{"chunk_shape":[20,60,30]}}`)
	if !strings.Contains(busy, "axis 0 ↓") || !strings.Contains(busy, "axis 2 →") {
		t.Error(busy)
	}
	turned := must(t, "", "grid", "testdata/rect_2d.zarr", "--axes", "1,0")
	if !strings.Contains(turned, "axis 0 →  60") || !strings.Contains(turned, "axis 1 ↓ 100") {
		t.Error(turned)
	}
	for _, more := range [][]string{nil, {"--svg", filepath.Join(t.TempDir(), "g.svg")}} {
		none, errs, status := execute(t, "", append([]string{"grid", "testdata/rect_2d.zarr", "--chunk", "7,7"}, more...)...)
		if status != 1 || none != "" || !strings.Contains(errs, "there is no chunk (7,7): the grid has 3 × 4\n") {
			t.Errorf("status %d, %s, %s", status, none, errs)
		}
	}
	if null := must(t, "", "grid", "testdata/rect_2d.zarr", "--chunk", "7,7", "--json"); !strings.Contains(null, `"chunk": null`) {
		t.Error(null)
	}
}

func TestGridPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grid.svg")
	args := []string{"grid", "testdata/rect_2d.zarr", "--locate", "15,40", "--chunk", "0,1", "--svg"}
	if out := must(t, "", append(args, file)...); out != "" {
		t.Errorf("printed %q", out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	picture := string(data)
	// Long lines are broken between words.
	unbroken := regexp.MustCompile(`</text>\n<text x="8" y="\d+">`).ReplaceAllString(picture, " ")
	for _, part := range []string{
		"<title>rect_2d.zarr</title>", "60 × 100 in 3 × 4 chunks, rectilinear element", ">stored</text>",
		"element (15, 40) is in chunk (1, 1), at (5, 15) within it chunk", "chunk (0, 1) holds the elements [0:10, 25:50], shape 10 × 25</text>",
	} {
		if strings.Count(unbroken, part) != 1 {
			t.Errorf("%q is missing in\n%s", part, picture)
		}
	}
	if n := strings.Count(picture, `fill-opacity=".12"`); n != 3 {
		t.Errorf("%d boxes are marked, want two chunks and the legend", n)
	}
	if out := must(t, "", append(args, "-")...); out != picture {
		t.Errorf("on standard output it is\n%s", out)
	}
	plain, both := must(t, "", "grid", "--json", "testdata/rect_2d.zarr"), must(t, "", "grid", "--json", "testdata/rect_2d.zarr", "--svg", file)
	if plain != both {
		t.Errorf("with a picture the facts are\n%s", both)
	}
	if data, err = os.ReadFile(file); err != nil || strings.Contains(string(data), "element") {
		t.Errorf("the file was not replaced (%v)\n%s", err, data)
	}
	if turned := must(t, "", "grid", "testdata/rect_2d.zarr", "--axes", "1", "--svg", "-"); strings.Contains(turned, "rotate") {
		t.Errorf("rows are drawn\n%s", turned)
	}
}

// TestGridNoPicture checks that no file is made if --locate fails.
func TestGridNoPicture(t *testing.T) {
	dir := t.TempDir()
	_, _, status := execute(t, "", "grid", "testdata/rect_2d.zarr", "--locate", "60,0", "--svg", filepath.Join(dir, "grid.svg"))
	if files, err := os.ReadDir(dir); status != 1 || err != nil || len(files) > 0 {
		t.Errorf("status %d, files %v (%v)", status, files, err)
	}
}

// TestGridTitle checks that the title of a picture is more than a number.
func TestGridTitle(t *testing.T) {
	node := filepath.Join(t.TempDir(), "p0.zarr", "0")
	must(t, "", "create", node, "--shape", "60,90", "--dtype", "int32", "--shards", "30,45", "--chunks", "10,15")
	if out := must(t, "", "grid", node, "--svg", "-"); !strings.Contains(out, ">p0.zarr/0</text>") {
		t.Error(out)
	}
}
