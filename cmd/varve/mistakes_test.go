// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

// newMistakes makes the nodes and files that TestMistakes names, and changes into their
// folder.
func newMistakes(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	must(t, "", "create", "a", "--shape", "4,5", "--dtype", "int32", "--dimension-names", "lat,time", "--attributes", `{"units": "K"}`)
	must(t, "", "create", "g", "--group")
	must(t, "", "create", "g/t2m", "--shape", "4,5", "--dtype", "float32")
	must(t, "", "create", "there.org/a", "--group")
	must(t, "", "create", "era5.zarr/t2m", "--shape", "4", "--dtype", "float64")
	must(t, "", "create", "twins", "--shape", "4,4", "--dtype", "int32", "--dimension-names", "x,x")
	must(t, "", "create", "tg", "--group")
	must(t, "", "create", "tg/twins", "--shape", "4,4", "--dtype", "int32", "--dimension-names", "x,x")
	must(t, "", "create", "one", "--shape", "", "--dtype", "int32")
	must(t, "", "create", "yes", "--shape", "2", "--dtype", "bool")
	file := func(name string, h npy.Header) string {
		n, _ := h.Bytes()
		data, err := os.ReadFile(npyFile(t, h, make([]byte, n)))
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, name, string(data))
		return string(data)
	}
	ok := file("ok.npy", npy.Header{Type: dtype.Int32, Shape: []int64{4, 5}})
	file("f8.npy", npy.Header{Type: dtype.Float64, Shape: []int64{4, 5}})
	file("turned.npy", npy.Header{Type: dtype.Int32, Shape: []int64{5, 4}})
	overwrite(t, "days/notes.txt", "no chunk")
	overwrite(t, "object.npy", strings.Replace(ok, "'<i4'", "'|O' ", 1))
	overwrite(t, "short.npy", ok[:len(ok)-7])
	overwrite(t, "npz.npy", "PK\x03\x04")
	overwrite(t, "x.npz", "PK\x03\x04")
	overwrite(t, "hdf.npy", "\x89HDF\r\n\x1a\n")
	overwrite(t, "x.nc", "\x89HDF\r\n\x1a\n")
	overwrite(t, "x.csv", "1,2\n")
	overwrite(t, "ragged.json", "[[1,2,3,4,5],[1,2],[1,2,3,4,5],[1,2,3,4,5]]")
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(ok)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	overwrite(t, "gz.npy", b.String())
	overwrite(t, "x.npy.gz", b.String())
}

// TestMistakes makes the mistakes of new users. Each message must be one line that says
// what is wrong and what to do, and wrong usage must have status 2.
func TestMistakes(t *testing.T) {
	newMistakes(t)
	create := "create new --dtype int8 "
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		// Arguments and flags.
		{"create", 2, "NODE is missing"},
		{"create 4,5 new --dtype int8", 2, "did you mean --shape 4,5?"},
		{create + "--shape 10 10", 2, "did you mean --shape 10,10?"},
		{create + "--shape 60, 100", 2, "write lists without spaces, such as 60,100"},
		{create + "--shape 3x4", 2, "did you mean 3,4?"},
		{create + "--shape (3,4)", 2, "did you mean 3,4?"},
		{create + "--shape [3,4]", 2, "did you mean 3,4?"},
		{create + "--shape (3,)", 2, "did you mean 3?"},
		{create + "--shape 1_000", 2, "did you mean 1000?"},
		{create + "--shape 1e3", 2, "did you mean 1000?"},
		{create + "--shape -1,5", 2, "is less than 0"},
		{create + "--shape 3.5", 2, "not a whole number"},
		{"create new --shape --dtype int8", 2, "--shape needs a value, but --dtype follows it"},
		{"create new --shape 3 --dtype", 2, "--dtype needs a value: TYPE is missing"},
		{"export a -o", 2, "--output needs a value: FILE is missing"},
		{create + "--shape 10,10 --chunks 10x10", 2, "did you mean 10,10?"},
		{create + "--shape 10,10 --chunks calender:month", 2, "did you mean calendar:month?"},
		{create + "--shape 10,10 --chunks 5,5,5", 1, "more than the 2 axes"},
		{create + "--shape 10,10 --chunks calendar:week", 2, `calendar unit "week": use month or year`},
		{create + "--shape 10,10 --chunk 5", 2, "did you mean --chunks?"},
		{create + "--shape 10 --attributes units=K", 2, `did you mean {"units": "K"}?`},
		{"grid a --chunks 2,2", 2, "--chunk-grid takes the whole chunk grid as JSON, --chunk the index of one chunk"},
		{"resize a 5,5", 2, "did you mean --shape 5,5?"},
		{"resize a 5 5", 2, "did you mean --shape 5,5?"},
		{"resize a time", 2, "as time=100"},
		{"resize a time=x", 2, "as time=100"},
		{"resize", 2, "NODE is missing"},
		{"resize a", 2, "as time=100"},
		{"resize a --shape 5", 1, "has 1 axis, the array has 2"},
		{"cat a 0:2", 2, "did you mean --select '0:2'?"},
		{"cat a --select time=0:2,0", 2, "items without names come first"},
		{"cat a --select 9", 1, "axis 0: out of range: index 9"},
		{"attrs a units K", 2, "varve attrs NODE set KEY JSON"},
		{"attrs a set units K", 2, `text needs double quotes, '"K"'`},
		// Names that are nearly right.
		{"inof a", 2, "did you mean info?"},
		{"inof a --stats", 2, "did you mean info?"},
		{"regrid a --axis 0", 2, `there is no command "regrid"`},
		{"hlep", 2, "did you mean help?"},
		{"help slect", 2, "did you mean select?"},
		{"info a --statss", 2, "did you mean --stats?"},
		{"info g/t2n", 1, "did you mean t2m?"},
		{"attrs a get unit", 1, "did you mean units?"},
		{"attrs a unset unit", 1, "did you mean units?"},
		{"attrs a gte units", 2, "did you mean get?"},
		{"cat a --select tme=0", 1, "did you mean time?"},
		{"append a ok.npy --axis tme", 1, "did you mean time?"},
		{"append a ok.npy --axis z", 1, "the array has lat, time"},
		{"append a ok.npy --grow append-on", 2, "did you mean append-one?"},
		{"append a ok.npy --grow fixd:3", 2, "did you mean fixed:3?"},
		{"resize a --shape 2,2 --shrink keep-edge", 2, "did you mean keep-edges?"},
		{create + "--shape 3 --compressor zstdd:3", 2, "did you mean zstd?"},
		{create + `--shape 3 --codecs ["bytes","zst"]`, 1, "did you mean zstd?"},
		{"export a --format cvs", 2, "did you mean csv?"},
		{"create new --shape 3 --dtype flaot32", 1, "did you mean float32?"},
		{`create new --shape 3 --dtype {"name":"numpy.datetime65","configuration":{"unit":"s","scale_factor":1}}`, 1, "did you mean numpy.datetime64?"},
		{`create new --shape 3 --dtype {"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int33"}]}}`, 1, "did you mean int32?"},
		{`create new --shape 3 --dtype {"name":"numpy.datetime64","configuration":{"unit":"s","scale":1}}`, 2, `"scale_factor" is missing, there is ["scale"]`},
		{create + `--shape 3 --codecs [{"name":"bytes"},{"name":"zstd","configuration":{"levl":1}}]`, 1, `unknown member "levl"; it has "level" and "checksum"`},
		{create + `--shape 3 --codecs [{"name":"bytes","configuration":{"order":"C"}}]`, 1, `unknown member "order"; it has "endian" only`},
		{create + `--shape 3 --chunks {"name":"regular","configuration":{"chunk_shap":[4]}}`, 1, `of the configuration, which has ["chunk_shape"]`},
		{create + `--shape 3 --chunks {"name":"reglar","configuration":{"chunk_shape":[4]}}`, 1, "did you mean regular?"},
		{"create new --shape 3 --dtype O", 1, "did you mean string or bytes?"},
		{create + "--shape 3 --chunks calendar:month --start 2020-01-01 --step 1d --calendar nolaep", 2, "did you mean noleap?"},
		{create + "--shape 3 --chunk-key-encoding v2", 2, "did you mean v2. or v2/?"},
		{create + "--shape 3 --chunks bouned:3", 2, "did you mean bounded:3?"},
		{create + "--shape 3 --chunks 8Mb", 2, "did you mean 8MB?"},
		{create + "--shape 3 --chunks 8M", 2, "did you mean 8MB?"},
		{create + "--shape 3,4 --dimension-names x", 1, "1 dimension name for 2 axes"},
		{"plan --shape 3 --dtype int8 --target 8mib", 2, "did you mean 8MiB?"},
		{"info a --experimental inner-chunk", 2, "did you mean inner-chunks?"},
		{"cat a --missing-chunks eror", 2, "did you mean error?"},
		{`cat a --select {"ortogonal":[[1]]}`, 2, "did you mean orthogonal?"},
		{"export a x2.csv", 2, "did you mean -o x2.csv?"},
		{"export a --csv", 2, "did you mean --format csv?"},
		{"resize twins x=5", 1, "several axes have that name; give --shape"},
		{"resize tg x=5", 1, `resize tg/twins: dimension "x": several axes have that name`},
		{"cat a --select latitude=0", 1, "(there are lat, time) (did you mean lat?)"},
		{"cat a --select lat==0", 1, "did you mean 'lat=0'?"},
		{"cat a --select lat=0;time=1", 1, "did you mean 'lat=0,time=1'?"},
		{"append era5.zarr/t2m t2m=ok.npy", 1, "did you mean varve append era5.zarr t2m=ok.npy?"},
		{"append one ok.npy", 1, "has no axis that could grow; varve write one --value V"},
		{"append a era5.zarr/t2m", 1, `(varve export era5.zarr/t2m -o FILE.npy), and then convert them, in NumPy with x.astype("int32")`},
		{"write yes --value True", 1, "did you mean true?"},
		{"create a2 --shape 4 --dtype int8 --chunks calendar:month --time tine", 1, "nothing is here"},
		{"create era5.zarr/b --shape 4 --dtype int8 --chunks calendar:month --time t2n", 1, "nothing is here (did you mean t2m?)"},
		// Places.
		{"info era5.zar/t2m", 1, "did you mean era5.zarr/t2m or https://era5.zar/t2m?"},
		{"info *.zarr", 1, "a shell expands a pattern only outside quotes"},
		{"create days --shape 10 --dtype int8", 1, "notes.txt is there, which is no part of a Zarr node; remove it, or choose another place"},
		{"cat g", 1, "it is a group, not an array (name an array in it, as g/t2m)"},
		{"consolidate a", 1, "it is an array, not a group"},
		{`info data\a.zarr`, 1, "as in data/a.zarr"},
		{"info ~/a.zarr", 1, "replaces ~ by the home folder"},
		{"info data.example.org/a.zarr", 1, "did you mean https://data.example.org/a.zarr?"},
		{"info data.example.museum/a.zarr", 1, "did you mean https://data.example.museum/a.zarr?"},
		{"info server:8080/a.zarr", 1, "did you mean https://server:8080/a.zarr?"},
		{"info nodir.zarr/a", 1, "nothing is here: there is no nodir.zarr\n"},
		{"info nodir.ZIP/a", 1, "nothing is here: there is no nodir.ZIP\n"},
		{"info results.v2/a", 1, "nothing is here: there is no results.v2\n"},
		{"info there.org/nothing", 1, "nothing is here\n"},
		{"info https:/data.example.org/a.zarr", 1, "did you mean https://data.example.org/a.zarr?"},
		{"info file://a", 1, "file:///path has three slashes"},
		{"info s3:/bucket/a.zarr", 1, "did you mean s3://bucket/a.zarr?"},
		{"info s4://bucket/a.zarr", 1, "did you mean s3?"},
		{"info htps://x/y", 1, "did you mean https?"},
		{"write ok.npy a", 1, "the node comes first: varve write a ok.npy"},
		{"info ok.npy", 1, "varve create NODE --from ok.npy"},
		{"info x.nc", 1, "damaged file: it ends after 8 bytes"},
		{"info g/t2m/zarr.json", 1, "the document of a node: did you mean g/t2m?"},
		{"sync a b", 2, "did you mean varve copy SRC DST --sync?"},
		{"drop a time=0:10", 2, "did you mean --axis time --range 0:10?"},
		{create + "--shape 3,4 --chunks [[],4]", 1, "at least one edge, as in [100]"},
		{"copy a g", 1, "g/a puts it into the group"},
		{"create a --shape 3 --dtype int8", 1, "a node is here already (--overwrite replaces it, or choose another name)\n"},
		{"export a -o nowhere/x.npy", 1, "there is no folder nowhere"},
		// Files.
		{"export a -o x2.h5", 2, "or give --format netcdf4"},
		{"write a x.nc", 1, "damaged file: it ends after 8 bytes"},
		{"write a x.npz", 2, "unzip"},
		{"write a x.npy.gz", 2, "gunzip -c"},
		{"write a x.csv", 2, "numpy.loadtxt"},
		{"write a npz.npy", 1, "unzip"},
		{"write a gz.npy", 1, "gunzip -c gz.npy"},
		{"write a hdf.npy", 1, "NetCDF or HDF5"},
		{"write a object.npy", 1, "astype(str)"},
		{"write a f8.npy", 1, `x.astype("int32")`},
		{"write a turned.npy", 1, "has shape [5 4], the place has [4 5]"},
		{"write a short.npy", 1, "73 bytes of elements, but its header requires 80"},
		{"write a ragged.json", 1, "/1: expected a list of 5, but found 2"},
		{"write a nowhere.npy", 1, "no such file"},
		{"write a 7", 1, "did you mean --value 7?"},
		{"write a --value 1.5", 1, "expected an integer"},
		{"write a --value nan", 1, "expected an integer"},
		{"cat nowhere.zarr", 1, "nothing is here"},
	} {
		out, errs, status := execute(t, "", strings.Fields(c.line)...)
		lines := strings.Count(strings.TrimSuffix(errs, "\n"), "\n") + 1
		if status != c.status || out != "" || !strings.Contains(errs, c.want) || lines > 2 || failure.WithoutPackages(errs) != errs {
			t.Errorf("%s: status %d, %s%s, want %q", c.line, status, out, errs, c.want)
		}
	}
	if _, errs, status := execute(t, "", "create", "new", "--shape", "3", "--dtype", "int8", "--fill", ""); status != 1 || !strings.Contains(errs, `--fill : value ""`) {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "info", ""); status != 2 || !strings.Contains(errs, "NODE is empty") {
		t.Errorf("status %d, %s", status, errs)
	}
	if entries, _ := filepath.Glob("new*"); len(entries) != 0 {
		t.Error(entries)
	}
}

// TestPlaceMessages checks what is said of an empty file, a link to nothing, a node below
// a file, and a fill value between quotes.
func TestPlaceMessages(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"empty.npy": "", "f.csv": "1\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere.zarr", "l.zarr"); err != nil {
		t.Skip(err)
	}
	for line, want := range map[string]string{
		"info empty.npy":                               "no Zarr node here, only a file (the file is empty)\n",
		"info l.zarr":                                  "nothing is here: l.zarr is a symbolic link, and its target nowhere.zarr does not exist",
		"info l.zarr/x":                                "nothing is here: l.zarr is a symbolic link, and its target nowhere.zarr does not exist",
		"create f.csv/n --shape 2 --dtype int8":        "f.csv is a file, not a directory, so nothing can be below it",
		`create n --shape 2 --dtype int8 --fill "abc"`: `value '"abc"' of int8: expected an integer`,
	} {
		if _, errs, status := execute(t, "", strings.Fields(line)...); status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}
