// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/internal/test/filetest"
)

// foreign copies files of package virtual into a folder, and returns it.
func foreign(t *testing.T, pattern string) string {
	t.Helper()
	return filetest.Copied(t, "../../virtual/testdata/"+pattern)
}

// monthlyFiles makes data/2026-09.nc and two more in a folder. It must be called in the
// folder of this package.
func monthlyFiles(t *testing.T, dir string) {
	t.Helper()
	from := foreign(t, "epochs_days_*.nc")
	for i, name := range []string{"2026-09.nc", "2026-10.nc", "2026-11.nc"} {
		b, err := os.ReadFile(filepath.Join(from, fmt.Sprintf("epochs_days_0%d.nc", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, filepath.Join(dir, "data", name), string(b))
	}
}

// TestVirtualize joins files that count time from different days, adds one, and copies
// the result.
func TestVirtualize(t *testing.T) {
	dir := foreign(t, "epochs_days_*.nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	out := must(t, "", "virtualize", at("epochs_days_0[12].nc"), "--concat", "time", "-o", at("e.vz"), "--dry-run")
	if !strings.Contains(out, "59 × 4 × 5") || !strings.Contains(out, "nothing was written") {
		t.Error(out)
	}
	if _, err := os.Stat(at("e.vz")); err == nil {
		t.Error("a dry run wrote")
	}
	must(t, "", "virtualize", at("epochs_days_0[12].nc"), "--concat", "time", "-o", at("e.vz"))
	if _, text, status := execute(t, "", "virtualize", at("epochs_days_03.nc"), "--concat", "time", "-o", at("e.vz")); status == 0 || !strings.Contains(text, "--append") {
		t.Errorf("a manifest was replaced: status %d, %s", status, text)
	}
	// All three are named, and one is new.
	out = must(t, at("epochs_days_01.nc")+"\n"+at("epochs_days_02.nc")+"\n\n"+at("epochs_days_03.nc"), "virtualize", "-", "--append", "-o", at("e.vz"), "--json")
	if !strings.Contains(out, `"files": 1`) || !strings.Contains(out, `"shape": [90, 4, 5]`) {
		t.Error(out)
	}
	if out := must(t, "", "cat", at("e.vz/time"), "--select", "89"); !strings.Contains(out, "2001-03-31") {
		t.Error(out)
	}
	must(t, "", "materialize", at("e.vz"), at("real.zarr"))
	must(t, "", "equal", at("e.vz"), at("real.zarr"))
	must(t, "", "rechunk", at("e.vz/t"), at("other.zarr"), "--chunks", "45,4,5")
	must(t, "", "equal", at("e.vz/t"), at("other.zarr"))
	must(t, "", "check", at("e.vz"))
}

// TestVirtualizeCopies joins files that end within a chunk, one of them later, with
// copies of these chunks.
func TestVirtualizeCopies(t *testing.T) {
	dir := foreign(t, "*_padded_0*.nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	out := must(t, "", "virtualize", at("yearly_padded_01.nc"), at("yearly_padded_02.nc"), "--concat", "time", "--copy-padded", "-o", at("y.vz"), "--dry-run")
	if !strings.Contains(out, "1 chunk to copy without padding") {
		t.Error(out)
	}
	if _, err := os.Stat(at("y.vz")); err == nil {
		t.Error("a dry run wrote")
	}
	must(t, "", "virtualize", at("yearly_padded_01.nc"), "--concat", "time", "-o", at("y.vz"))
	add := []string{"virtualize", at("yearly_padded_02.nc"), "--append", "-o", at("y.vz")}
	if _, text, status := execute(t, "", "virtualize", at("yearly_padded_01.nc"), at("yearly_padded_02.nc"), "--concat", "time", "-o", at("y.json")); status == 0 || !strings.Contains(text, "both need a manifest (-o NAME.vz)") {
		t.Errorf("status %d, %s", status, text)
	}
	if _, text, status := execute(t, "", add...); status == 0 || !strings.Contains(text, "--copy-padded") {
		t.Errorf("status %d, %s", status, text)
	}
	out = must(t, "", append(add, "--copy-padded", "--json")...)
	if copied, _ := decode(t, out)["copied"].(map[string]any); copied["chunks"] != 1.0 || copied["bytes"] == 0.0 {
		t.Error(out)
	}
	if out := must(t, "", "info", at("y.vz/t")); !strings.Contains(out, "731 × 4 × 5") {
		t.Error(out)
	}
	must(t, "", "virtualize", at("yearly_padded_0[12].nc"), "--concat", "time", "--experimental", "encoded-shapes", "-o", at("e.vz"))
	must(t, "", "equal", at("y.vz"), at("e.vz"), "--experimental", "encoded-shapes")
	must(t, "", "check", at("y.vz"))
	// The last file of a manifest is read again, if references may lead to it.
	other := filepath.Join(t.TempDir(), "o.vz")
	must(t, "", "virtualize", at("yearly_padded_01.nc"), "--concat", "time", "-o", other)
	add = []string{"virtualize", at("yearly_padded_02.nc"), "--append", "--copy-padded", "-o", other}
	if _, text, status := execute(t, "", add...); status == 0 || !strings.Contains(text, "allow "+dir) {
		t.Errorf("status %d, %s", status, text)
	}
	must(t, "", append(add, "--allow", dir)...)
	must(t, "", "equal", other, at("y.vz"), "--allow", dir)
}

// TestVirtualizeGoesOn repeats a command that has failed at the last of many files.
func TestVirtualizeGoesOn(t *testing.T) {
	dir := foreign(t, "*.npy")
	names, err := filepath.Glob(filepath.Join(dir, "*.npy"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range 300 {
		list = append(list, filepath.Join(dir, fmt.Sprintf("many/%03d.npy", i)))
		overwrite(t, list[i], string(b))
	}
	overwrite(t, list[299], "no format")
	args := []string{"virtualize", "-", "-o", filepath.Join(dir, "m.vz"), "--json"}
	_, text, status := execute(t, strings.Join(list, "\n"), args...)
	if status == 0 || !strings.Contains(text, "299.npy") || !strings.Contains(text, "the same command continues: 256 files need not be scanned again") {
		t.Errorf("status %d, %s", status, text)
	}
	overwrite(t, list[299], string(b))
	if out := must(t, strings.Join(list, "\n"), args...); !strings.Contains(out, `"files": 300`) || !strings.Contains(out, `"kept": 256`) {
		t.Error(out)
	}
	left, err := filepath.Glob(filepath.Join(dir, "m.vz/scan/*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q stay (%v)", left, err)
	}
}

// TestVacuumOfManifest vacuums a manifest after an append, and removes it.
func TestVacuumOfManifest(t *testing.T) {
	dir := foreign(t, "epochs_days_*.nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "virtualize", at("epochs_days_01.nc"), "--concat", "time", "-o", at("e.vz"))
	must(t, "", "virtualize", at("epochs_days_0[23].nc"), "--append", "-o", at("e.vz"))
	if out := must(t, "", "vacuum", at("e.vz"), "--yes"); !strings.Contains(out, "2 values superseded") || !strings.Contains(out, "kept: readers may still use them") || !strings.Contains(out, "0 B freed") {
		t.Error(out)
	}
	values := func() int {
		names, err := filepath.Glob(at("e.vz/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	out := must(t, "", "vacuum", at("e.vz"), "--grace", "0", "--dry-run", "--json")
	if items, _ := decode(t, out)["items"].([]any); len(items) != 1 || values() != 4 {
		t.Errorf("%d values, %s", values(), out)
	}
	if _, text, status := execute(t, "", "vacuum", at("e.vz"), "--grace", "0"); status != 2 || !strings.Contains(text, "give --yes") || values() != 4 {
		t.Errorf("%d values, status %d, %s", values(), status, text)
	}
	must(t, "", "vacuum", at("e.vz"), "--grace", "0", "--yes")
	if n := values(); n != 2 {
		t.Errorf("%d values", n)
	}
	must(t, "", "check", at("e.vz"))
	if _, text, status := execute(t, "", "vacuum", at("e.vz"), "--give-up", "--yes"); status != 2 || !strings.Contains(text, "--give-up") {
		t.Errorf("status %d, %s", status, text)
	}
	must(t, "", "rm", at("e.vz"), "--dry-run")
	if _, text, status := execute(t, "", "rm", at("e.vz")); status != 2 || !strings.Contains(text, "but not the files") || values() != 2 {
		t.Errorf("%d values, status %d, %s", values(), status, text)
	}
	must(t, "", "rm", at("e.vz"), "--yes")
	if _, err := os.Stat(at("e.vz")); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
	if _, err := os.Stat(at("epochs_days_01.nc")); err != nil {
		t.Error(err)
	}
}

// TestRemoveForeign removes a folder with the manifest.json of another program: it stays.
func TestRemoveForeign(t *testing.T) {
	name := filepath.Join(t.TempDir(), "app.vz")
	document := filepath.Join(name, "manifest.json")
	if err := errors.Join(os.Mkdir(name, 0o777), os.WriteFile(document, []byte(`{"name": "App"}`), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"rm", "vacuum"} {
		if _, text, status := execute(t, "", command, name, "--yes"); status == 0 || !strings.Contains(text, "varve_manifest") {
			t.Errorf("%s: status %d, %s", command, status, text)
		}
	}
	if _, err := os.Stat(document); err != nil {
		t.Error(err)
	}
}

// TestVirtualizeRefuses has files that do not fit, arrays without a codec, sources that
// have changed, and changes of a manifest.
func TestVirtualizeRefuses(t *testing.T) {
	dir := foreign(t, "*.[nh][c5]")
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		args string
		want []string
	}{
		"other chunks": {"uniform_01.nc odd_chunks_change.nc uniform_02.nc --concat time -o x.vz", []string{"odd_chunks_change.nc", "2 (x)"}},
		"padding":      {"yearly_padded_01.nc yearly_padded_02.nc --concat time -o x.vz", []string{"yearly_padded_01.nc", "0 (time)", "padding", "(--copy-padded)", "(--experimental encoded-shapes)"}},
		"copies":       {"yearly_padded_01.nc --concat time --copy-padded -o x.json", []string{"make a manifest"}},
		"no format":    {"../nothing.bin -o x.vz", []string{"nothing.bin"}},
		"no suffix":    {"uniform_01.nc -o x.zarr", []string{"ends in .vz"}},
		"no files":     {"-o x.vz", []string{"which files?"}},
		"no --concat":  {"uniform_01.nc runs_of_ten_01.nc -o x.vz", []string{"runs_of_ten_01.nc", "need --concat"}},
		"not there":    {"nothere.nc -o x.vz", []string{"nothere.nc", "does not exist"}},
		"two ways":     {"uniform_01.nc --concat time --stack m -o x.vz", []string{"exclude"}},
		"no match":     {"nothing*.nc -o x.vz", []string{"nothing*.nc"}},
		"no manifest":  {"uniform_01.nc --append -o none.vz", []string{"none.vz"}},
	} {
		args := []string{"virtualize"}
		for _, word := range strings.Fields(c.args) {
			if strings.ContainsAny(word, ".*") {
				word = at(word)
			}
			args = append(args, word)
		}
		_, text, status := execute(t, "", args...)
		if status == 0 {
			t.Errorf("%s: accepted", name)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s does not name %s", name, text, want)
			}
		}
	}
	out, text, status := execute(t, "", "virtualize", at("h5_unsupported.h5"), "-o", at("u.vz"))
	if status != 3 || !strings.Contains(out, "left out: lzf") || !strings.Contains(out, "plain") || !strings.Contains(text, "could not be taken") {
		t.Errorf("status %d, %s%s", status, out, text)
	}
	out, text, status = execute(t, "", "virtualize", at("h5_unsupported.h5"), "-o", at("j.vz"), "--json")
	if left, _ := decode(t, out)["left_out"].([]any); status != 3 || len(left) == 0 || text != "" {
		t.Errorf("status %d, %s%s", status, out, text)
	}
	if _, text, status := execute(t, "", "append", at("u.vz/plain"), at("u.npy")); status == 0 || !strings.Contains(text, "read-only") {
		t.Errorf("status %d, %s", status, text)
	}
	if err := os.Truncate(at("h5_unsupported.h5"), 100); err != nil {
		t.Fatal(err)
	}
	if _, text, status := execute(t, "", "cat", at("u.vz/plain")); status == 0 || !strings.Contains(text, "changed since it was scanned") {
		t.Errorf("status %d, %s", status, text)
	}
}

// TestVirtualizeOmissions names what a file has and the manifest does not, and shows what
// values mean.
func TestVirtualizeOmissions(t *testing.T) {
	dir := foreign(t, "objects/*")
	at := func(name string) string { return filepath.Join(dir, name) }
	out := must(t, "", "virtualize", at("h5_names_latest.h5"), "-o", at("names.vz"))
	for _, want := range []string{"left out: dangling of", "left out: hard:pointer of", "left out: external of", "ghard/deep/w"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s lacks %q", out, want)
		}
	}
	if out, text, status := execute(t, "", "virtualize", at("fits_scaled.fits"), "-o", at("fits.vz")); status != 3 {
		t.Errorf("status %d, %s%s", status, out, text)
	}
	if out := must(t, "", "export", at("fits.vz/primary"), "--decode", "--format", "csv"); !strings.Contains(out, "40000") {
		t.Error(out)
	}
}

// TestAllow reads references into another folder.
func TestAllow(t *testing.T) {
	dir, other := foreign(t, "uniform_01.nc"), t.TempDir()
	if out := must(t, "", "virtualize", filepath.Join(dir, "uniform_01.nc"), "-o", filepath.Join(other, "u.vz")); !strings.Contains(out, "--allow "+dir) {
		t.Error(out)
	}
	_, text, status := execute(t, "", "cat", filepath.Join(other, "u.vz/t"))
	if status == 0 || !strings.Contains(text, "not allowed") || !strings.Contains(text, dir) {
		t.Errorf("status %d, %s", status, text)
	}
	must(t, "", "cat", filepath.Join(other, "u.vz/t"), "--allow", dir)
	if _, _, status := execute(t, "", "cat", filepath.Join(other, "u.vz/t"), "--allow", dir[:len(dir)-1]); status == 0 {
		t.Error("the beginning of a name is not a folder")
	}
}

// TestVirtualizeParquet writes references in Parquet files, reads them, and puts them
// together with others.
func TestVirtualizeParquet(t *testing.T) {
	dir := foreign(t, "runs_of_ten_*.nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	files := at("runs_of_ten_*.nc")
	must(t, "", "virtualize", files, "--concat", "time", "-o", at("r.vz"))
	if out := must(t, "", "virtualize", files, "--concat", "time", "-o", at("r.parq"), "--record-size", "4", "--dry-run"); !strings.Contains(out, "nothing was written") {
		t.Error(out)
	}
	if _, err := os.Stat(at("r.parq")); err == nil {
		t.Error("a dry run wrote")
	}
	if out := must(t, "", "virtualize", files, "--concat", "time", "-o", at("r.parq"), "--record-size", "4"); strings.Contains(out, "fsspec") {
		t.Error(out)
	}
	groups := filepath.Join(foreign(t, "h5_groups.h5"), "h5_groups.h5")
	for _, name := range []string{"g.parq", "g.json"} {
		if out := must(t, "", "virtualize", groups, "-o", at(name)); strings.Contains(out, "note: fsspec opens no references") != (name == "g.parq") {
			t.Errorf("%s: %s", name, out)
		}
	}
	for name, want := range map[string]bool{"t/refs.2.parq": true, "t/refs.3.parq": false, ".zmetadata": true} {
		if _, err := os.Stat(filepath.Join(at("r.parq"), name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, "", "equal", at("r.vz/t"), at("r.parq/t"))
	if out := must(t, "", "info", at("r.parq/t")); !strings.Contains(out, "zarr format 2") || !strings.Contains(out, "100 × 4 × 5") {
		t.Error(out)
	}
	must(t, "", "check", at("r.parq"))
	must(t, "", "materialize", at("r.parq"), at("real.zarr"))
	must(t, "", "equal", at("r.vz/t"), at("real.zarr/t"))
	// With a slash at the end, and from references.
	must(t, "", "virtualize", at("r.parq"), "-o", at("again.parquet")+"/")
	must(t, "", "equal", at("r.vz/t"), at("again.parquet/t"))
	must(t, "", "virtualize", at("again.parquet"), "-o", at("again.json"))
	must(t, "", "equal", at("r.vz/t"), at("again.json/t"))
	if err := os.WriteFile(at("table.parq"), []byte("PAR1"), 0o666); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"virtualize F --concat time -o r.parq":                        "delete it with the tools of the system",
		"virtualize F --concat time -o again.json":                    "delete it with the tools of the system",
		"rm r.parq --yes":                                             "read-only",
		"rm again.json --yes":                                         "read-only",
		"virtualize F --append -o r.parq":                             "cannot grow",
		"virtualize F --concat time -o x.vz --record-size 5":          "--record-size is for references in Parquet files",
		"virtualize F --concat time -o x.parq --record-size -1":       "from 1 to 1,048,576",
		"virtualize F --concat time -o x.parq --record-size 99999999": "from 1 to 1,048,576",
		"virtualize F --concat time -o x.other":                       ".parquet for Parquet files",
		"append r.parq/t r.vz/t":                                      "read-only",
		"info table.parq":                                             "table.parq",
		"virtualize table.parq -o x.vz":                               "table.parq",
	} {
		words := strings.Fields(args)
		for i, word := range words {
			switch {
			case word == "F":
				words[i] = files
			case strings.ContainsAny(word, "."):
				words[i] = at(word)
			}
		}
		if _, text, status := execute(t, "", words...); status == 0 || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, %s; want %s", args, status, text, want)
		}
	}
	// References lead nowhere that is not allowed.
	other := t.TempDir()
	if err := os.CopyFS(filepath.Join(other, "r.parq"), os.DirFS(at("r.parq"))); err != nil {
		t.Fatal(err)
	}
	if _, text, status := execute(t, "", "cat", filepath.Join(other, "r.parq/t")); status == 0 || !strings.Contains(text, "not allowed") || !strings.Contains(text, dir) {
		t.Errorf("status %d, %s", status, text)
	}
	must(t, "", "cat", filepath.Join(other, "r.parq/t"), "--allow", dir)
	// A file of references that was cut is an error, and not one of missing chunks.
	if err := os.Truncate(at("r.parq/t/refs.1.parq"), 100); err != nil {
		t.Fatal(err)
	}
	if _, text, status := execute(t, "", "cat", at("r.parq/t"), "--select", "45"); status == 0 || !strings.Contains(text, "refs.1.parq") {
		t.Errorf("status %d, %s", status, text)
	}
	if _, text, status := execute(t, "", "check", at("r.parq")); status == 0 {
		t.Errorf("status %d, %s", status, text)
	}
}

// TestVirtualizeNames calls files what the user calls them, and prints the first notes of
// each kind. JSON has all.
func TestVirtualizeNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 8 {
		name := fmt.Sprintf("src/f%d.zarr", i)
		must(t, "", "create", name, "--group")
		must(t, "", "create", name+"/time", "--shape", "2", "--dtype", "int32", "--dimension-names", "time")
		must(t, fmt.Sprintf("[%d,%d]", 20-i, 21-i), "write", name+"/time", "--format", "json")
		overwrite(t, name+"/readme", "text")
	}
	out := must(t, "", "virtualize", "src/*.zarr", "--concat", "time", "-o", "o.vz")
	for want, n := range map[string]int{
		"note: time: src/f1.zarr does not begin after the end of src/f0.zarr;": 1, "does not begin after": 3, "note: … and 4 more like this": 1,
		"of src/f0.zarr: ": 1, "left out: ": 3, "of 5 more files": 1, "../": 0,
	} {
		if strings.Count(out, want) != n {
			t.Errorf("%q is not there %d times: %s", want, n, out)
		}
	}
	d := decode(t, must(t, "", "virtualize", "src/*.zarr", "--concat", "time", "-o", "j.vz", "--json"))
	if notes, left := d["notes"].([]any), d["left_out"].([]any); len(notes) != 7 || len(left) != 8 {
		t.Errorf("JSON has %d notes and %d left out", len(notes), len(left))
	}
	must(t, "", "create", "src/g.zarr", "--group")
	must(t, "", "create", "src/g.zarr/time", "--shape", "2", "--dtype", "int32", "--dimension-names", "time", "--attributes", `{"units": "m"}`)
	for file, want := range map[string]string{"src/g.zarr": "src/g.zarr: time: units", "src/nothing.nc": ": src/nothing.nc: "} {
		_, text, status := execute(t, "", "virtualize", "src/f0.zarr", file, "--concat", "time", "-o", "o2.vz")
		if status == 0 || !strings.Contains(text, want) || strings.Contains(text, "../") {
			t.Errorf("status %d, %s, want %q", status, text, want)
		}
	}
}

// TestVirtualizeLevels joins arrays that differ in how hard they were compressed. The
// manifest has the level of the first. Other differences of codecs are refused.
func TestVirtualizeLevels(t *testing.T) {
	const le = `{"name": "bytes", "configuration": {"endian": "little"}}`
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"zstd":              {`{"name": "zstd", "configuration": {"level": 1, "checksum": true}}`, `{"name": "zstd", "configuration": {"level": 9, "checksum": true}}`, true},
		"zstd, no checksum": {`{"name": "zstd", "configuration": {"level": 1, "checksum": true}}`, `{"name": "zstd", "configuration": {"level": 9, "checksum": false}}`, true},
		"gzip":              {`{"name": "gzip", "configuration": {"level": 1}}`, `{"name": "gzip", "configuration": {"level": 9}}`, true},
		"zlib":              {`{"name": "numcodecs.zlib", "configuration": {"level": 1}}`, `{"name": "numcodecs.zlib", "configuration": {"level": 9}}`, true},
		"blosc": {`{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}`,
			`{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 9, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}`, true},
		"lz4":           {`{"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}`, `{"name": "numcodecs.lz4", "configuration": {"acceleration": 3}}`, true},
		"another codec": {`{"name": "gzip", "configuration": {"level": 1}}`, `{"name": "numcodecs.zlib", "configuration": {"level": 1}}`, false},
		"none":          {`{"name": "gzip", "configuration": {"level": 1}}`, "", false},
	} {
		dir := t.TempDir()
		for i, codec := range []string{c.a, c.b} {
			node := fmt.Sprintf("%s/%d.zarr/t", dir, i)
			codecs := "[" + le + "]"
			if codec != "" {
				codecs = "[" + le + "," + codec + "]"
			}
			must(t, "", "create", node, "--shape", "4", "--dtype", "int32", "--chunks", "2", "--dimension-names", "x", "--codecs", codecs)
			must(t, fmt.Sprintf("[%d,2,3,4]", i), "write", node, "--format", "json")
		}
		args := []string{"virtualize", dir + "/0.zarr", dir + "/1.zarr", "--concat", "x", "-o", dir + "/n.vz"}
		if !c.same {
			refuses(t, "its codecs: ", args...)
			continue
		}
		must(t, "", args...)
		if got := must(t, "", "export", dir+"/n.vz/t", "--format", "json"); got != "[0,2,3,4,1,2,3,4]\n" {
			t.Errorf("%s: %s", name, got)
		}
		info := must(t, "", "info", dir+"/n.vz/t", "--json")
		if strings.Contains(info, `"level": 9`) || strings.Contains(info, `"clevel": 9`) || name == "zstd" && !strings.Contains(info, `"checksum": true`) || name == "zstd, no checksum" && strings.Contains(info, `"checksum": true`) {
			t.Errorf("%s: %s", name, info)
		}
	}
}

// TestVirtualizeStrangers counts the values without a document in a Zarr group, of which
// only the first hundred are named.
func TestVirtualizeStrangers(t *testing.T) {
	src, out := t.TempDir()+"/a.zarr", t.TempDir()+"/a.vz"
	must(t, "", "create", src+"/x", "--shape", "2", "--dtype", "int8")
	must(t, "", "write", src+"/x", "--value", "1")
	for i := range 250 {
		if err := os.WriteFile(fmt.Sprintf("%s/notes%03d.txt", src, i), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, _, _ := execute(t, "", "virtualize", src, "-o", out)
	if !strings.Contains(text, "… 230 more are left out") {
		t.Error(text)
	}
}

// TestVirtualizeItself refuses to add a manifest, or a node in it, to itself, under every
// name that it has.
func TestVirtualizeItself(t *testing.T) {
	dir := foreign(t, "epochs_days_*.nc")
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "virtualize", at("epochs_days_01.nc"), "--concat", "time", "-o", at("e.vz"))
	if err := os.Symlink("e.vz", at("link.vz")); err != nil {
		t.Skip(err)
	}
	before := must(t, "", "info", at("e.vz"))
	for _, name := range []string{at("e.vz"), at("e.vz") + "/", at("e.vz/time"), dir + "/./x/../e.vz", "file://" + at("e.vz"), at("link.vz")} {
		for _, out := range []string{"e.vz", "link.vz"} {
			_, text, status := execute(t, "", "virtualize", at("epochs_days_02.nc"), name, "--append", "-o", at(out))
			if status == 0 || !strings.Contains(text, name+" is the manifest") {
				t.Errorf("%s was added to %s: status %d, %s", name, out, status, text)
			}
		}
	}
	if after := must(t, "", "info", at("e.vz")); after != before {
		t.Errorf("%s became %s", before, after)
	}
	for location, want := range map[string]bool{
		"s3://b/a/e.vz": true, "s3://b/a/./e.vz/t2m": true, "s3://b/a//e.vz?endpoint=x": true, "s3://b/a/e.vz2": false, "gs://b/a/e.vz": false, "b/a/e.vz": false,
	} {
		if place.IsAtOrBelow("s3://b/a/e.vz", location) != want {
			t.Errorf("%s: want %v", location, want)
		}
	}
}
