// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

func TestCreateChunks(t *testing.T) {
	for _, c := range []struct {
		shape, chunks string
		args          []string
		want          string
	}{
		{"1000,1000", "100kB", nil, "every [250,334]"},
		{"1000,1000", "1 MiB", nil, "every [1000,1000]"},
		{"1000,1000", "1 B", nil, "every [1,1]"},
		{"10,10", "8GiB", nil, "every [10,10]"},
		{"0,10", "8GiB", nil, "every [107374182,10]"},
		{"", "8GiB", nil, "every []"},
		{"60,4,5", "calendar:month", []string{"--start", "2024-02-20", "--step", "1d"}, "[[10,31,30],4,5]"},
		{"24", "calendar:year", []string{"--start", "2024-07-01", "--step", "1mo"}, "[[6,12,12]]"},
		{"0", "calendar:month", []string{"--start", "2024-02-20", "--step", "1d", "--calendar", "360_day"}, "[[11]]"},
		{"60,30", `["calendar:month", 7]`, []string{"--start", "2024-02-20", "--step", "1d"}, "[[10,31,30],7]"},
		{"4,60", `[[1,3], "calendar:month"]`, []string{"--start", "2024-02-20", "--step", "1d"}, "[[1,3],[10,31,30]]"},
		{"60,4", `["calendar:month", -1]`, []string{"--start", "2024-02-20", "--step", "1d"}, "[[10,31,30],4]"},
		{"10,10", "5", []string{"--list-edges"}, "every [5,5]"},
		{"10,10", "[[4,6],5]", []string{"--list-edges"}, "[[4,6],[[5,2]]]"},
		{"10,10", "auto", []string{"--list-edges"}, "every [10,10]"},
		{"10,7", "bounded:4", nil, "every [4,4]"},
		{"10,7", "bounded:[4,-1]", nil, "every [4,7]"},
		{"10,7", "bounded:[4,4]", []string{"--list-edges"}, "every [4,4]"},
		{"60,4,5", "calendar:month", []string{"--start", "2024-02-20", "--step", "1d", "--list-edges"}, "[[10,31,30],[4],[5]]"},
	} {
		node := newNode(t, append([]string{"--shape", c.shape, "--dtype", "int8", "--chunks", c.chunks}, c.args...)...)
		got := chunkShapes(t, node)
		if strings.HasPrefix(got, "[") {
			got = expanded(t, got)
		}
		want := c.want
		if strings.HasPrefix(want, "[") {
			want = expanded(t, want)
		}
		if got != want {
			t.Errorf("%s of %s: got %s, want %s", c.chunks, c.shape, got, want)
		}
	}
}

// TestCreateBounded stores the last chunks only as far as the array reaches.
func TestCreateBounded(t *testing.T) {
	node := newNode(t, "--shape", "5", "--dtype", "int8", "--chunks", "bounded:3", "--compressor", "none")
	must(t, "[1,2,3,4,5]", "write", node, "--format", "json")
	if got := must(t, "", "export", node, "--format", "json"); got != "[1,2,3,4,5]\n" {
		t.Error(got)
	}
	if facts := decode(t, must(t, "", "info", "--stats", "--json", node)); facts["bytes_stored"] != 5.0 || !strings.Contains(fmt.Sprint(facts["chunk_grid"]), "zarrs.regular_bounded") {
		t.Error(facts)
	}
	if _, errs, status := execute(t, "[6]", "append", node, "--format", "json"); status != 1 || !strings.Contains(errs, "unlock") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "unlock", node)
	must(t, "[6]", "append", node, "--format", "json")
	if got := chunkShapes(t, node); got != "[[3,2,1]]" {
		t.Error(got)
	}
}

// TestCreateByCoordinate cuts a new array by an existing coordinate, and appends to it.
func TestCreateByCoordinate(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	coordinateNode(t, group+"/time", "60", "days since 2024-02-20", numbers(0, 60))
	for name, c := range map[string]struct{ shape, want string }{
		"as long": {"60,2", "[[10,31,30],2]"}, "shorter": {"12,2", "[[10,31],2]"}, "empty": {"0,2", "[[10],2]"},
	} {
		node := group + "/" + strings.ReplaceAll(name, " ", "")
		must(t, "", "create", node, "--shape", c.shape, "--dtype", "int8", "--chunks", "calendar:month", "--time", "time")
		if got := chunkShapes(t, node); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	must(t, "[[1,2]]", "append", group+"/shorter", "--format", "json", "--grow", "calendar:month", "--time", "time")
	if got := chunkShapes(t, group+"/shorter"); got != "[[10,31],2]" {
		t.Error(got)
	}
	_, errs, status := execute(t, "", "create", group+"/longer", "--shape", "61", "--dtype", "int8", "--chunks", "calendar:month", "--time", "time")
	if status != 1 || !strings.Contains(errs, "has 60 elements, but the axis has 61") {
		t.Errorf("status %d, %s", status, errs)
	}
}

func TestCreateGroups(t *testing.T) {
	int64s := func(n ...byte) string {
		h := npy.Header{Type: dtype.Int16, Shape: []int64{int64(len(n))}}
		data := string(h.Append(nil))
		for _, v := range n {
			data += string([]byte{v, 0})
		}
		return data
	}
	for name, c := range map[string]struct{ content, want string }{
		"counts":                {"2\n3\n5\n", "[[2,3,5],3]"},
		"counts as JSON":        {"[2, 3, 5]", "[[2,3,5],3]"},
		"counts of NumPy":       {int64s(2, 3, 5), "[[2,3,5],3]"},
		"labels":                {"a\na\nb\nb\nb\nb\nb\nc\nc\nd", "[[2,5,2,1],3]"},
		"labels of Windows":     {"a\r\na\r\nb\r\nb\r\nb\r\nb\r\nb\r\nc\r\nc\r\nd\r\n", "[[2,5,2,1],3]"},
		"numbers as labels":     {"9\n9\n10\n10\n10\n10\n10\n11\n11\n12\n", "[[2,5,2,1],3]"},
		"labels as JSON":        {`["10","10","10","10","10","9","9","9","9","9"]`, "[[[5,2]],3]"},
		"labels of NumPy":       {int64s(1, 1, 1, 1, 1, 1, 1, 2, 2, 3), "[[7,2,1],3]"},
		"fractions as labels":   {"[-1.5,-1.5,0,0,0,0,1e2,1e2,1e2,1e3]", "[[2,4,3,1],3]"},
		"large numbers":         {strings.Repeat("9\n", 9) + "18446744073709551615", "[[9,1],3]"},
		"one group by counts":   {"10", "[[10],3]"},
		"one group by labels":   {strings.Repeat("x\n", 10), "[[10],3]"},
		"sum and length differ": {"1\n1\n1\n1\n1\n1\n1\n1\n1\n2", "[[9,1],3]"},
	} {
		file := filepath.Join(t.TempDir(), "labels")
		overwrite(t, file, c.content)
		node := newNode(t, "--shape", "10,3", "--dtype", "int8", "--chunks", "groups:"+file)
		if got := chunkShapes(t, node); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	node := filepath.Join(t.TempDir(), "a.zarr")
	must(t, "2 \n 8", "create", node, "--shape", "10,3", "--dtype", "int8", "--chunks", `["groups:-",2]`)
	if got := chunkShapes(t, node); got != "[[2,8],2]" {
		t.Error(got)
	}
}

func TestCreateWrongGroups(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"unsorted":         {"1\n1\n1\n1\n1\n1\n1\n5\n4\n4", "index 8"},
		"again":            {"a\nb\na\na\na\na\na\na\na\na", "index 2"},
		"too few counts":   {"2\n3", "their sum is 5"},
		"zero":             {"4\n0\n6", "count at index 1 is 0"},
		"too few labels":   {"a\nb", "2 labels for an axis of 10"},
		"empty line":       {"a\n\nb", "line 2 is empty"},
		"nothing":          {"", "0 entries"},
		"ones":             {strings.Repeat("1\n", 10), "could be labels"},
		"mixed":            {`[1,"a"]`, "cannot be mixed"},
		"no list":          {`[1,`, "labels"},
		"lists":            {`[[1],[2]]`, "a number or a string"},
		"damaged NumPy":    {"\x93NUMPY", "labels"},
		"sum out of range": {"9223372036854775807\n1", "64 bits"},
	} {
		file := filepath.Join(t.TempDir(), "labels")
		overwrite(t, file, c.content)
		node := filepath.Join(t.TempDir(), "a.zarr")
		out, errs, status := execute(t, "", "create", node, "--shape", "10,3", "--dtype", "int8", "--chunks", "groups:"+file, "--json")
		facts, _ := decode(t, errs)["error"].(map[string]any)
		message, _ := facts["message"].(string)
		if status != 1 || out != "" || facts["axis"] != 0.0 || facts["path"] != node || !strings.Contains(message, c.want) {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
}

func TestPlan(t *testing.T) {
	got := decode(t, must(t, "", "plan", "--shape", "1826,721,1440", "--dtype", "float32", "--target", "8MiB", "--json"))
	chunks, _ := got["chunks"].([]any)
	if len(chunks) != 3 || got["shards"] != nil || got["target_bytes"] != 8388608.0 {
		t.Fatal(got)
	}
	bytes, objects := 4.0, 1.0
	for i, n := range []float64{1826, 721, 1440} {
		c := chunks[i].(float64)
		bytes *= c
		cells := float64(int64((n + c - 1) / c))
		if grid := got["grid_shape"].([]any)[i]; grid != cells {
			t.Errorf("axis %d: %v", i, grid)
		}
		if objects *= cells; i == 2 {
			objects++
		}
	}
	if got["chunk_bytes"] != bytes || bytes > 8388608 || bytes < 4194304 || got["objects"] != objects {
		t.Error(got)
	}
	node := newNode(t, "--shape", "1826,721,1440", "--dtype", "float32", "--chunks", "8MiB")
	if want := "every " + strings.ReplaceAll(fmt.Sprint(chunks), " ", ","); chunkShapes(t, node) != want {
		t.Errorf("%s, but create takes %s", want, chunkShapes(t, node))
	}
	huge := decode(t, must(t, "", "plan", "--shape", "9223372036854775807,9223372036854775807", "--dtype", "int8", "--target", "1B", "--json"))
	if huge["objects"] != nil || huge["bytes_logical"] != nil {
		t.Error(huge)
	}
	out := must(t, "", "plan", "--shape", "60,100", "--dtype", "int32")
	for _, part := range []string{"plan for 60 × 100 of int32", "60 × 100, 23 KiB each", "1 chunk if all are stored", "--chunks '[60,100]'", "with shards  the array is no more than one chunk"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in %s", part, out)
		}
	}
	for shape, want := range map[string]string{"0,5": "26,214 × 5, 128 KiB each", "": "scalar"} {
		if out := must(t, "", "plan", "--shape", shape, "--dtype", "int8"); !strings.Contains(out, want) {
			t.Error(out)
		}
	}
}

// TestPlanShards has the example of ZEP 2: ten million chunks in 351 objects.
func TestPlanShards(t *testing.T) {
	volume := []string{"plan", "--shape", "25000,18000,6000", "--dtype", "uint8", "--target", "8GiB"}
	want := `plan for 25,000 × 18,000 × 6,000 of uint8
  size         2.5 TiB
  chunks       64 × 64 × 64, 256 KiB each
  grid         391 × 282 × 94
  objects      10,364,628 chunks if all are stored, and the metadata
  create       varve create NODE --shape '25000,18000,6000' --dtype uint8 --chunks '[64,64,64]'
  with shards  2,048 × 2,048 × 2,048, 8.0 GiB each
    chunks     64 × 64 × 64, 256 KiB each, 32,768 in a shard
    grid       13 × 9 × 3
    objects    351 shards if all are stored, and the metadata
    holding    10,364,628 chunks
    create     varve create NODE --shape '25000,18000,6000' --dtype uint8 --shards '[2048,2048,2048]' --chunks '[64,64,64]'
`
	for _, chunks := range []string{"64", "[64,64,64]", "256KiB"} {
		if got := must(t, "", append(volume, "--chunks", chunks)...); got != want {
			t.Errorf("--chunks %s: got\n%s\nwant\n%s", chunks, got, want)
		}
	}
	facts := decode(t, must(t, "", append(volume, "--chunks", "64", "--json")...))
	in, _ := facts["sharded"].(map[string]any)
	if got := fmt.Sprint(in["chunks"], in["shards"], in["grid_shape"], in["chunk_bytes"], in["shard_bytes"], in["chunks_per_shard"], in["inner_chunks"], in["objects"], in["advice"]); got !=
		"[64 64 64] [2048 2048 2048] [13 9 3] 262144 8.589934592e+09 32768 1.0364628e+07 352 <nil>" {
		t.Error(got)
	}
	// What create takes by itself is what is planned.
	facts = decode(t, must(t, "", "plan", "--shape", "25000,18000,6000", "--dtype", "uint8", "--json"))
	in, _ = facts["sharded"].(map[string]any)
	text := strings.ReplaceAll(fmt.Sprint(in["shards"], " / ", in["chunks"]), " ", ",")
	if got := shardText(t, newNode(t, "--shape", "25000,18000,6000", "--dtype", "uint8", "--shards", "auto")); strings.ReplaceAll(text, ",/,", " / ") != got {
		t.Errorf("planned %s, created %s", text, got)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--shape", "1000,1000", "--dtype", "int8", "--chunks", "100", "--target", "10kB"}, "no room for two inner chunks"},
		{[]string{"--shape", "1000,1000", "--dtype", "int8", "--chunks", "100"}, "    but        the array is smaller than a shard"},
		{[]string{"--shape", "9223372036854775807,9223372036854775807", "--dtype", "int8"}, "    holding    more than 64 bits can count"},
		{[]string{"--shape", "0,5", "--dtype", "int8"}, "with shards  the array is no more than one chunk"},
	} {
		if got := must(t, "", append([]string{"plan"}, c.args...)...); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q is not in\n%s", c.args, c.want, got)
		}
	}
}

// TestEmptyAxes checks the chunks of empty arrays. An append must not make one chunk for
// each element.
func TestEmptyAxes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--shape 0 --dtype int32", "every [32768]"},
		{"--shape 0,2 --dtype int8", "every [65536,2]"},
		{"--shape 2,0 --dtype int8", "every [2,65536]"},
		{"--shape 0,0 --dtype int8", "every [131072,1]"},
		{"--shape 0,721,1440 --dtype float32", "every [1,181,720]"}, // as a plane of 4 MB is cut
		{"--shape 0,4 --dtype int32 --chunks 8MiB", "every [524288,4]"},
		{"--shape 0,9223372036854775807 --dtype int32 --chunks 8MiB", "every [1,2097152]"},
		{"--shape 0,4 --dtype int32 --chunks 5,4", "every [5,4]"},
	} {
		node := newNode(t, strings.Fields(c.args)...)
		if got := chunkShapes(t, node); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
	node := newNode(t, "--shape", "0,4", "--dtype", "int32", "--shards", "auto")
	if got := fmt.Sprint(decode(t, must(t, "", "info", "--json", node))["chunk_grid"]); !strings.Contains(got, "chunk_shape:[8192 4]") {
		t.Error(got)
	}
}
