// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// flipByte changes a byte within the first chunk of an array in a file, which no longer
// decodes then.
func flipByte(t *testing.T, file, array string) {
	t.Helper()
	must(t, "", "virtualize", file, "-o", file+".json")
	var refs struct{ Refs map[string]json.RawMessage }
	var at [3]any
	text, err := os.ReadFile(file + ".json")
	if err == nil {
		err = json.Unmarshal(text, &refs)
	}
	if err == nil {
		err = json.Unmarshal(refs.Refs[array+"/0.0.0"], &at)
	}
	if err == nil {
		err = os.Remove(file + ".json")
	}
	data, readErr := os.ReadFile(file)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	data[int(at[1].(float64)+at[2].(float64)/2)] ^= 0xff
	overwrite(t, file, string(data))
}

// advised matches the commands in messages that can be repeated as they are.
var advised = regexp.MustCompile(`varve (?:check|export|info|virtualize) [^;()]*?(?: lists| scans| \(|\)|;|\n|$)`)

// followAdvice runs the commands that a message names. None may be wrong usage, or fail
// to find its node.
func followAdvice(t *testing.T, message string, least int) {
	t.Helper()
	found := advised.FindAllString(message, -1)
	if len(found) < least {
		t.Errorf("no advice in %s", message)
	}
	for _, line := range found {
		line = strings.TrimRight(line, "();\n")
		line = strings.TrimSuffix(strings.TrimSuffix(line, " lists"), " scans")
		args := strings.Fields(line)[1:]
		_, errs, status := execute(t, "", args...)
		if status == 2 || strings.Contains(errs, "open ") || args[0] != "check" && status != 0 {
			t.Errorf("%q advises %q: status %d, %s", message, line, status, errs)
		}
	}
}

// TestForeignFileDamaged reads damaged files in every command that takes values. Messages
// name the file and the array in it, and advise commands that work.
func TestForeignFileDamaged(t *testing.T) {
	dir := foreign(t, "epochs_days_0[12].nc")
	t.Chdir(dir)
	must(t, "", "copy", "epochs_days_01.nc", "g.zarr")
	whole, err := os.ReadFile("epochs_days_02.nc")
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, "in/bad.nc", string(whole))
	flipByte(t, "in/bad.nc", "t")
	overwrite(t, "in/short.nc", string(whole[:len(whole)-200]))
	overwrite(t, "in/text.nc", "no such format")
	for _, line := range []string{
		"append g.zarr in/FILE", "append g.zarr t=in/FILE time=in/FILE", "append g.zarr/t in/FILE --alone", "append g.zarr/t in/FILE/t --alone",
		"insert g.zarr --axis time --at 0 t=in/FILE time=in/FILE --unlock", "create new.zarr --from in/FILE/t", "write g.zarr/t --select :28 in/FILE",
		"cat in/FILE/t", "export in/FILE/t -o x.npy", "copy in/FILE copy.zarr", "rechunk in/FILE/t r.zarr --chunks 7,4,5",
	} {
		for file, words := range map[string]string{
			"bad.nc": "in/bad.nc/t: chunk [0 0 0]", "short.nc": "it was cut off", "text.nc": "of no known format", "gone.nc": "",
		} {
			damaged := file == "bad.nc"
			if damaged && (strings.HasPrefix(line, "copy") || strings.HasPrefix(line, "write")) {
				continue // bytes are copied as they are; the times differ
			}
			args := strings.Fields(strings.ReplaceAll(line, "FILE", file))
			_, errs, status := execute(t, "", args...)
			if status == 0 || !strings.Contains(errs, words) || !strings.Contains(errs, "in/"+file) {
				t.Errorf("varve %q: status %d, %s", args, status, errs)
			}
			if damaged {
				followAdvice(t, errs, 1)
			}
		}
	}
	if out, _, status := execute(t, "", "check", "in/bad.nc"); status != 1 || !strings.Contains(out, "in/bad.nc/t  1 stored chunk, ") {
		t.Errorf("status %d, %s", status, out)
	}
	if got := must(t, "", "info", "g.zarr/t"); !strings.Contains(got, "31 × 4 × 5") {
		t.Error(got)
	}
}

// TestForeignFileNodes runs commands that read nodes on a file of another format, and
// those that change nodes, which refuse it.
func TestForeignFileNodes(t *testing.T) {
	t.Chdir(foreign(t, "epochs_days_0[12].nc"))
	file := "epochs_days_01.nc"
	must(t, "", "virtualize", file, "-o", "x.vz")
	must(t, "", "copy", file, "copy.zarr")
	for _, args := range [][]string{
		{"cat", "NODE/t", "--select", "2"}, {"export", "NODE/t", "--format", "json"}, {"export", "NODE/time", "--decode", "--format", "csv"},
		{"cat", "NODE/t", "--select", "time=2001-01-03"}, {"equal", "NODE", "x.vz"}, {"diff", "copy.zarr/t", "NODE/t"},
	} {
		var of [2]string
		for i, at := range []string{file, "x.vz"} {
			of[i] = must(t, "", strings.Fields(strings.ReplaceAll(strings.Join(args, " "), "NODE", at))...)
		}
		if of[0] != of[1] {
			t.Errorf("%q: %s, want %s", args, of[0], of[1])
		}
	}
	if out := must(t, "", "info", file+"/t"); !strings.Contains(out, "readable by Varve, programs for the format of its file") {
		t.Error(out)
	}
	must(t, "", "check", file)
	must(t, "", "equal", file, "copy.zarr")
	refuses(t, "(name an array in it, as epochs_days_01.nc/t or epochs_days_01.nc/time)", "cat", file)
	refuses(t, "(epochs_days_01.nc has t, time)", "cat", file+"/q")
	for _, line := range []string{"rm " + file + " --yes", "create " + file + " --group", "create " + file + "/g --group", "attrs " + file + "/t set x 1", "resize " + file + "/t --shape 40,4,5"} {
		refuses(t, "copy it to a node (varve copy), and change that", strings.Fields(line)...)
	}
}

// TestForeignAdvice takes values whose meaning differs from that of the place. The way
// out that the message names works for files of other formats, too.
func TestForeignAdvice(t *testing.T) {
	t.Chdir(foreign(t, "epochs_days_0[12].nc"))
	must(t, "", "copy", "epochs_days_01.nc", "g.zarr")
	must(t, "", "create", "f8.zarr", "--shape", "28,4,5", "--dtype", "float64", "--chunks", "28,4,5")
	must(t, "", "create", "unit.zarr", "--shape", "28", "--dtype", "float64", "--chunks", "28", "--attributes", `{"units": "K"}`)
	for line, words := range map[string]string{
		"write g.zarr/t --select :28 epochs_days_02.nc": "has other axes",
		"write f8.zarr epochs_days_02.nc/t":             "elements of type float32",
		"write unit.zarr epochs_days_02.nc/time":        "units",
	} {
		_, errs, status := execute(t, "", strings.Fields(line)...)
		if status != 1 || !strings.Contains(errs, words) || !strings.Contains(errs, "varve export epochs_days_02.nc/t") || !strings.Contains(errs, "-o FILE.npy") {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
		followAdvice(t, errs, 1)
		if err := os.Remove("FILE.npy"); err != nil {
			t.Error(err)
		}
	}
}

// TestForeignUnsupported copies a file with an array whose filter no codec undoes. Each
// command names the array and the filter, and a way to copy the others, which works.
func TestForeignUnsupported(t *testing.T) {
	t.Chdir(foreign(t, "h5_earliest.h5"))
	const deflate, lzf = "\x01\x00\x08\x00\x01\x00\x01\x00deflate\x00", "\x00\x7d\x08\x00\x01\x00\x01\x00lzf\x00\x00\x00\x00\x00"
	whole := read(t, "h5_earliest.h5")
	overwrite(t, "part.h5", strings.Replace(whole, deflate, lzf, 1))
	names := strings.Fields(must(t, "", "ls", "h5_earliest.h5"))
	if len(names) < 2 {
		t.Fatal(names)
	}
	remedy := regexp.MustCompile(`varve (virtualize part\.h5 -o part\.vz) leaves such arrays out, and varve (materialize part\.vz dst\.zarr) then copies the others`)
	for _, args := range [][]string{{"copy", "part.h5", "dst.zarr"}, {"materialize", "part.h5", "dst.zarr"}, {"copy", "--sync", "part.h5", "dst.zarr"}, {"convert", "part.h5", "dst.zarr", "--to", "2"}} {
		_, errs, status := execute(t, "", args...)
		found := remedy.FindStringSubmatch(errs)
		if status != 1 || !strings.Contains(errs, `array "`) || !strings.Contains(errs, "no codec for its filter lzf (32000)") || found == nil {
			t.Fatalf("%q: status %d, %s", args, status, errs)
		}
		if _, errs, status := execute(t, "", strings.Fields(found[1])...); status != 3 || !strings.Contains(errs, "1 array of the files could not be taken") {
			t.Errorf("status %d, %s", status, errs)
		}
		must(t, "", strings.Fields(found[2])...)
		for _, made := range []string{"part.vz", "dst.zarr"} {
			if err := os.RemoveAll(made); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFileURLs reads a node by its path and by a file:// URL, alike.
func TestFileURLs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", dir, "--group")
	must(t, "", "create", filepath.Join(dir, "a"), "--shape", "6", "--dtype", "int8", "--chunks", "4")
	must(t, "[1,2,3,4,5,6]", "write", filepath.Join(dir, "a"), "--format", "json")
	url := "file://" + filepath.ToSlash(dir)
	for _, args := range [][]string{
		{"info", "/a"}, {"info", ""}, {"tree", ""}, {"ls", ""}, {"cat", "/a"}, {"check", ""}, {"grid", "/a"}, {"attrs", ""}, {"export", "/a"}, {"diff", "/a"}, {"equal", "/a"},
	} {
		command, at, more := args[0], args[1], args[2:]
		if command == "diff" || command == "equal" {
			more = []string{filepath.Join(dir, "a")}
		}
		want, _, status := execute(t, "", append([]string{command, dir + at}, more...)...)
		got, errs, same := execute(t, "", append([]string{command, url + at}, more...)...)
		if got = strings.ReplaceAll(got, url, filepath.ToSlash(dir)); got != want || same != status {
			t.Errorf("%s: status %d, want %d: %s, %s, want %s", command, same, status, got, errs, want)
		}
	}
}
