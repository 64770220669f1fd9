// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
)

// TestFollowCommand repeats one command while the array that is followed lives.
func TestFollowCommand(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr", "a"), filepath.Join(dir, "by-place.zarr", "a")
	must(t, "", "create", src, "--shape", "6,4", "--dtype", "int16", "--chunks", "2,4", "--dimension-names", "time,x")
	must(t, "", "write", src, "--value", "5")
	var p struct {
		Operation, Strategy, Guarantee     string
		Changed                            bool
		Chunks_rewritten, Chunks_copied    int64
		Chunks_linked, Bytes_decoded, Peak int64
		Documents_written                  int64
	}
	follow := func(args ...string) {
		t.Helper()
		out := must(t, "", append([]string{"rechunk", src, dst, "--follow", "--chunks", "6,2", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Fatal(err, out)
		}
	}
	equal := func() {
		t.Helper()
		must(t, "", "equal", src, dst)
		if follow(); p.Changed || p.Strategy != "metadata" || p.Documents_written != 0 {
			t.Errorf("it is up to date: %+v", p)
		}
	}
	if follow("--dry-run"); !p.Changed || p.Strategy != "copy-publish" {
		t.Errorf("%+v", p)
	}
	if _, _, status := execute(t, "", "info", dst); status == 0 {
		t.Error("a dry run has made the array")
	}
	if follow(); !p.Changed || p.Strategy != "copy-publish" || p.Chunks_rewritten != 2 {
		t.Errorf("%+v", p)
	}
	equal()
	must(t, "1 2 3 4", "append", src, "--alone", "--format", "json", writeInput(t, dir, []byte("[[1, 2, 3, 4], [5, 6, 7, 8]]")))
	if follow("--dry-run"); p.Strategy != "append" || p.Bytes_decoded != 16 || p.Chunks_rewritten != 2 {
		t.Errorf("%+v", p)
	}
	if follow(); p.Strategy != "append" || p.Bytes_decoded != 16 || p.Operation != "rechunk" {
		t.Errorf("%+v", p)
	}
	equal()
	must(t, "", "write", src, "--select", "1,1", "--value", "9")
	if follow("--dry-run"); p.Strategy != "namespace-flip" || p.Chunks_copied+p.Chunks_linked != 4 || p.Bytes_decoded != 16 {
		t.Errorf("%+v", p)
	}
	if follow(); p.Strategy != "namespace-flip" || p.Chunks_linked != 4 || p.Guarantee != "atomic" {
		t.Errorf("%+v", p)
	}
	equal()
	// A merge stores the same elements again, which are not copied.
	must(t, "", "compact", src, "--to", "max:4")
	equal()
	if out := must(t, "", "rechunk", src, dst, "--follow"); !strings.Contains(out, "nothing to do") {
		t.Error(out)
	}
	if out := must(t, "", "vacuum", dst, "--grace", "0s", "--yes"); !strings.Contains(out, "superseded") {
		t.Error(out)
	}
	equal()
	for _, c := range []struct{ args, want string }{
		{src + " --follow", "--follow needs DST"},
		{src + " " + dst + " --follow --plan p.json", "exclude each other"},
		{src + " " + dst + " --follow --chunks 3,2", "by-place.zarr/a: axis 0: it has other chunks"},
		{src + " " + dst + " --follow --compressor gzip:5", "by-place.zarr/a: it was made with other codecs"},
	} {
		if _, errs, status := execute(t, "", append([]string{"rechunk"}, strings.Fields(c.args)...)...); status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %q, status %d, want %q", c.args, errs, status, c.want)
		}
	}
	other := filepath.Join(dir, "other.zarr")
	must(t, "", "create", other, "--shape", "6,4", "--dtype", "int16", "--chunks", "2,4")
	// The array to remove is the one that follows.
	if _, errs, status := execute(t, "", "rechunk", other, dst, "--follow"); status == 0 || !strings.Contains(errs, "by-place.zarr/a: ") || !strings.Contains(errs, "it follows") {
		t.Errorf("%q, status %d", errs, status)
	}
	// A program other than this command.
	a, err := zarr.OpenArray(t.Context(), dst, &zarr.Options{Write: true})
	if err == nil {
		err = errors.Join(zarr.Append(t.Context(), a, 0, []int16{1, 2, 3, 4}, &zarr.AppendOptions{}), a.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, status := execute(t, "", "rechunk", src, dst, "--follow"); status != 1 || !strings.Contains(errs, "another program has appended to it") {
		t.Errorf("%q, status %d", errs, status)
	}
}

// TestFollowPart follows a part of an array, which reaches to the end of the axis that
// grows.
func TestFollowPart(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src.zarr", "a"), filepath.Join(dir, "part.zarr", "a")
	must(t, "", "create", src, "--shape", "4,6", "--dtype", "int16", "--chunks", "1,6", "--dimension-names", "time,x")
	values := func(from, to int) string { // the rows of x from 2 to 5
		var text []string
		for i := from; i < to; i++ {
			text = append(text, strings.Repeat(strconv.Itoa(i)+" ", 3))
		}
		return strings.Join(text, "")
	}
	row := func(i int) {
		must(t, "", "write", src, "--select", strconv.Itoa(i), "--value", strconv.Itoa(i))
	}
	for i := range 4 {
		row(i)
	}
	args := []string{"rechunk", src, dst, "--follow", "--select", "time=1:,x=2:5", "--chunks", "10,3"}
	check := func(from, to int) {
		t.Helper()
		out := must(t, "", "export", dst, "--format", "csv")
		if got := strings.Join(strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune(" \n,", r) }), " "); !strings.Contains(got, strings.TrimSpace(values(from, to))) {
			t.Errorf("%s, want %s", got, values(from, to))
		}
	}
	must(t, "", args...)
	check(1, 4)
	must(t, "", "resize", src, "--shape", "6,6")
	row(4)
	row(5)
	if out := must(t, "", append(args, "--json")...); !strings.Contains(out, `"append"`) {
		t.Error(out)
	}
	check(1, 6)
	must(t, "", "write", src, "--select", "0:6,0:2", "--value", "9") // outside of the part, in its chunks
	must(t, "", "rechunk", src, dst, "--follow")
	check(1, 6)
	for _, c := range []struct{ sel, want string }{
		{"time=1:3,x=2:5", "it follows the region \"1:,2:5\": leave --select out, or remove it (varve rm)"},
		{"::2", "one range of each axis"},
		{"::-1", "one range of each axis"},
		{"2", "one range of each axis"},
		{"1:1", "one range of each axis"},
		{`{"orthogonal": [[0, 2, 1]]}`, "one range of each axis"}, // the order would be lost
		{`{"orthogonal": [[1, 3, 1]]}`, "one range of each axis"}, // 2 is not selected
		{"-2:", "count from the beginning"},
	} {
		if _, errs, status := execute(t, "", "rechunk", src, dst, "--follow", "--select", c.sel); status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %q, status %d, want %q", c.sel, errs, status, c.want)
		}
	}
	if _, errs, status := execute(t, "", "rechunk", src, "--chunks", "2,2", "--select", "0:2"); status != 2 || !strings.Contains(errs, "needs DST") {
		t.Errorf("%q, status %d", errs, status)
	}
	// A range that ends where the array ends now does not grow.
	closed := filepath.Join(dir, "closed.zarr", "a")
	for range 2 {
		must(t, "", "rechunk", src, closed, "--follow", "--select", "0:6,0:2")
		must(t, "", "resize", src, "--shape", "7,6")
		if out := must(t, "", "info", closed, "--json"); !strings.Contains(strings.Join(strings.Fields(out), ""), `"shape":[6,2]`) {
			t.Error(out)
		}
	}
	// Several ranges may have no end.
	cube, corner := filepath.Join(dir, "cube.zarr", "a"), filepath.Join(dir, "corner.zarr", "a")
	must(t, "", "create", cube, "--shape", "3,4,5", "--dtype", "int8", "--chunks", "1,2,5", "--dimension-names", "time,y,x")
	for _, shape := range []string{"3,4,5", "5,6,7"} {
		must(t, "", "resize", cube, "--shape", shape)
		must(t, "", "write", cube, "--value", "7", "--yes")
		must(t, "", "rechunk", cube, corner, "--follow", "--select", "time=1:,y=2:,x=1:3")
	}
	if out := must(t, "", "info", corner, "--json"); !strings.Contains(strings.Join(strings.Fields(out), ""), `"shape":[4,4,2]`) {
		t.Error(out)
	}
	// Without --follow, a part becomes a new array.
	part := filepath.Join(dir, "once.zarr", "a")
	must(t, "", "rechunk", src, part, "--select", "1:3,2:5")
	if out := must(t, "", "export", part, "--format", "csv"); !strings.Contains(out, "1,1,1") || !strings.Contains(out, "2,2,2") {
		t.Error(out)
	}
}

// TestFollowOutOfKeys changes elements until the array that follows has no free chunk
// keys: the message names that array, and --grace frees some.
func TestFollowOutOfKeys(t *testing.T) {
	dir := t.TempDir()
	from, to := dir+"/s.zarr/v", dir+"/p.zarr/v"
	must(t, "", "create", from, "--shape", "6,4,8", "--dtype", "int16", "--chunks", "1,4,8")
	follow := []string{"rechunk", from, to, "--chunks", "8,2,2", "--follow"}
	must(t, "", append(follow, "--grace", "0s")...) // makes the array
	errs, status, value := "", 0, 0
	for status == 0 && value < 10 {
		value++
		must(t, "", "write", from, "--select", "0,0,0", "--value", fmt.Sprint(value))
		_, errs, status = execute(t, "", follow...)
	}
	if status != 1 || !strings.Contains(errs, "follow "+to+": no chunk keys are free") || strings.Contains(errs, from) {
		t.Fatalf("status %d, %s", status, errs)
	}
	_, errs, _ = execute(t, "", append(follow, "--json")...)
	if got := decode(t, errs)["error"].(map[string]any); got["path"] != to {
		t.Errorf("%v", got)
	}
	must(t, "", append(follow, "--grace", "0s", "--dry-run")...)
	must(t, "", append(follow, "--grace", "0s")...)
	must(t, "", "equal", from, to)
	// Without --follow a new array supersedes nothing.
	if _, errs, status := execute(t, "", "rechunk", from, dir+"/q.zarr", "--chunks", "8,2,2", "--grace", "0s"); status != 2 || !strings.Contains(errs, "a new array has none") {
		t.Errorf("status %d, %s", status, errs)
	}
}
