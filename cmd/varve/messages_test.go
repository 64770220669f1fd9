// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// TestMessages checks that errors say what is missing, what exists, and what to write
// instead.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, "", "create", "g.zarr/lat", "--shape", "4", "--dtype", "float64", "--dimension-names", "lat")
	must(t, "", "create", "plain.zarr/a", "--shape", "4", "--dtype", "int8")
	must(t, "", "create", "plain.zarr/rows", "--shape", "4,3", "--dtype", "int8")
	must(t, "", "create", "t.zarr/text", "--shape", "2", "--dtype", "string")
	must(t, "", "create", "t.zarr/fixed", "--shape", "2", "--dtype", "U5")
	must(t, "", "export", "g.zarr/lat", "-o", "lat.npy")
	must(t, "", "create", "time.zarr/time", "--shape", "2", "--dtype", "int64", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-01"}`)
	must(t, "", "create", "missing.zarr/time", "--shape", "2", "--dtype", "float64", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-03"}`)
	must(t, `[1,"NaN"]`, "write", "missing.zarr/time", "--format", "json")
	overwrite(t, "empty.nc", "")
	overwrite(t, "empty.zip", "")
	must(t, "", "create", "two.zarr/a", "--shape", "4", "--dtype", "int8", "--dimension-names", "t")
	must(t, "", "create", "two.zarr/b", "--shape", "4,3", "--dtype", "int8", "--dimension-names", "t,y")
	must(t, "", "create", "old.zarr/a", "--shape", "4", "--dtype", "int8", "--zarr-format", "2")
	must(t, "", "create", "s.zarr", "--shape", "2", "--dtype", `[["x","<i4"],["y","<f8"]]`)
	for _, c := range []struct{ stdin, line, want string }{
		{"[10.5, 20]\n", "write g.zarr/lat -", "standard input ends after 11 bytes, 32 are needed (it was read as raw elements of type float64; use --format json for lists as text"},
		{"[10.5, 20, 30.25, 40.125, 50.0625]\n", "write g.zarr/lat -", "has more than the 32 bytes needed (it was read as raw elements of type float64; use --format json"},
		{"[10.5, 20]\n", "append g.zarr/lat -", "is not a whole number of elements of type float64 (it was read as raw elements of type float64; use --format json"},
		{"[1, 2, 3]\n", "append plain.zarr/rows -", "which is not a whole number of planes of 3 bytes (shape [4 3] without axis 0, type int8) (it was read as raw elements of type int8; use --format json"},
		{"[10.5, 20]\n", "append g.zarr/lat - --format raw", "is not a whole number of elements of type float64\n"},
		{"", "write g.zarr/lat --select :3 lat.npy", "shape [3] of type float64 takes 3 (24 bytes)\n"}, // it was read as what it is
		{"", "append t.zarr/fixed t.zarr/text --alone", "export them first (varve export t.zarr/text -o FILE.json), and give that file"},
		{"", "append plain.zarr/a t.zarr/text", "the array int8\n"},
		{"[10.5, 20]\n", "write g.zarr/lat - --format raw", "ends after 11 bytes, 32 are needed\n"},
		{"", "append g.zarr plain.zarr --axis Lat", `no array directly below the group has the dimension "Lat"; the dimensions are lat (did you mean lat?)`},
		{"", "append plain.zarr plain.zarr --axis lat", `has the dimension "lat"; name the arrays that grow, as NAME=FILE`},
		{"", "append time.zarr/time missing.zarr/time", "missing.zarr/time: element 1: time nan cannot be stored here: it is missing there"},
		{"", "info empty.nc", "the file is empty"},
		{"", "info empty.zip", "damaged zip archive: it is empty"},
		{"", "drop two.zarr --select t=0:1,y=0:1 --yes", "drop two.zarr: --select t=0:1,y=0:1: give one range of one dimension"},
		{"", "drop two.zarr/b --select t=0:1,y=0:1 --yes", "give one range of one dimension"},
		{"", "append plain.zarr/a empty.nc/a", "the file is empty"},
		{"", "resize g.zarr tiem=3", `the dimension "tiem"; the dimensions are lat` + "\n"},
		{"", "resize g.zarr latt=3", `the dimension "latt"; the dimensions are lat (did you mean lat?)`},
		{"", "resize plain.zarr x=3", `the dimension "x"; their dimensions have no names`},
		{"", "write s.zarr --value [1,2.5]", `expected an object with a value for each field, as {"x":0,"y":0.0}`},
		{"", "convert old.zarr/a old.zarr/b --to 3", `"/" in the store of the destination is of format 2 and cannot contain nodes of format 3: convert the node to format 2, or choose`},
		{"", "copy old.zarr/a g.zarr/b", `"/" in the store of the destination is of format 3 and cannot contain nodes of format 2: convert the node to format 3, or choose`},
	} {
		_, errs, status := execute(t, c.stdin, strings.Fields(c.line)...)
		if status != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s", c.line, status, errs)
		}
	}
	for line, want := range map[string]string{
		`cat g.zarr/lat --select {"orthogonal":{"lat":[45.0,30]}}`: "30 is an index in a list of coordinate values",
		`cat g.zarr/lat --select {"orthogonal":[[45.0]]}`:          "45.0 has a point, so it is no index",
		`cat g.zarr/lat --select lat=`:                             "there is a comma too many, or a name without an item, as in time=0:10",
		`create n.zarr --dtype int8 --shape 3,x`:                   "is not a whole number of 64 bits\n",
		`run p.json --take --stage 0`:                              "--stage and --task, --take",
		`cat g.zarr/lat --select lat=1..3:2`:                       "a range of values has no step",
		`check g.zarr --against x --fast`:                          "--against and --fast exclude each other",
		`check g.zarr --plan p.json --digest`:                      "--plan and --digest exclude each other",
		`rechunk g.zarr/lat --codecs [{"name":"bytes"}`:            `--codecs "[{\"name\":\"bytes\"}": `,
		`create n.zarr --shape 4 --dtype int8 --codecs [{"a":1`:    "--codecs ",
	} {
		if _, errs, status := execute(t, "", strings.Fields(line)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
}

// TestSelectListedValues selects by lists of coordinate values, numbers and dates.
func TestSelectListedValues(t *testing.T) {
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g+"/t", "--shape", "4,3", "--dtype", "int16", "--dimension-names", "lat,time")
	must(t, "", "create", g+"/lat", "--shape", "4", "--dtype", "float64", "--dimension-names", "lat")
	must(t, "", "create", g+"/time", "--shape", "3", "--dtype", "int64", "--dimension-names", "time", "--attributes", `{"units":"days since 2020-01-01"}`)
	must(t, "[10,20,30,45]", "write", g+"/lat", "--format", "json")
	must(t, "[0,31,60]", "write", g+"/time", "--format", "json")
	must(t, "[[0,1,2],[3,4,5],[6,7,8],[9,10,11]]", "write", g+"/t", "--format", "json")
	for sel, want := range map[string]string{
		`{"orthogonal":{"lat":[45.0,30.0]}}`:                                  "[[9,10,11],[6,7,8]]\n",
		`{"orthogonal":{"lat":20.0}}`:                                         "[3,4,5]\n",
		`{"orthogonal":{"lat":[3,0],"time":["2020-02-01","2020-03-01"]}}`:     "[[10,11],[1,2]]\n",
		`{"orthogonal":{"lat":[45.0],"time":["2020-03-01T00","2020-01-01"]}}`: "[[11,9]]\n",
	} {
		if got := must(t, "", "export", g+"/t", "--format", "json", "--select", sel); got != want {
			t.Errorf("%s: %s, want %s", sel, got, want)
		}
	}
}

// TestMessagesOfPlaces says what of the path of a missing node is there, also in archives
// and manifests, which the file system does not look into.
func TestMessagesOfPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "", "create", "d.zarr/g/h/a", "--shape", "2", "--dtype", "int8")
	must(t, "", "write", "d.zarr/g/h/a", "--value", "1")
	must(t, "", "copy", "d.zarr", "z.zip")
	must(t, "", "virtualize", "d.zarr", "-o", "v.vz")
	for at, want := range map[string]string{
		"d.zarr/g/h/none":  "the group d.zarr/g/h has no none",
		"d.zarr/none/none": "d.zarr has no none",
		"z.zip/g/h/none":   "z.zip/g/h has no none",
		"z.zip/none/none":  "z.zip has no none",
		"v.vz/g/h/none":    "v.vz/g/h has no none",
		"v.vz/g/none/none": "v.vz/g has no none",
	} {
		if _, errs, status := execute(t, "", "info", at); status != 1 || !strings.HasSuffix(errs, want+"\n") {
			t.Errorf("%s: status %d, %s", at, status, errs)
		}
	}
}

// TestMessagesQuoteNames checks that what a message suggests can be pasted into a shell,
// also if a name has a space.
func TestMessagesQuoteNames(t *testing.T) {
	t.Chdir(foreign(t, "epochs_days_01.nc"))
	for _, folder := range []string{"out side", "m", "a group"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "", "copy", "epochs_days_01.nc", "a group/g.zarr")
	must(t, "", "export", "a group/g.zarr/time", "-o", "n p.npy")
	overwrite(t, "out side/x.nc", string(must1(os.ReadFile("epochs_days_01.nc"))))
	if out := must(t, "", "virtualize", "out side/x.nc", "-o", "m/o.vz"); !strings.Contains(out, "give every command --allow 'out side'\n") {
		t.Error(out)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	allow := "give --allow " + phrase.Word(here+"/out side") + " if you trust the references"
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"cat", "m/o.vz/t"}, 1, allow + "\n"},
		{[]string{"materialize", "m/o.vz", "mm.zarr"}, 1, allow + "; without it the command stops there again; the incomplete copy"},
		{[]string{"copy", "m/o.vz", "mm.zarr", "--sync"}, 1, allow + "; without it the command stops there again"},
		{[]string{"info", "n p.npy"}, 1, "varve create NODE --from 'n p.npy' converts it"},
		{[]string{"info", "a group"}, 1, "(varve create 'a group' --group makes the folder a group)"},
		{[]string{"cat", "a group/g.zarr"}, 1, "as 'a group/g.zarr/t' or 'a group/g.zarr/time'"},
		{[]string{"cat", "a group/g.zerr/t"}, 1, "(did you mean 'a group/g.zarr/t'?)"},
		{[]string{"write", "n p.npy", "a group/g.zarr/time"}, 1, "varve write 'a group/g.zarr/time' 'n p.npy'"},
		{[]string{"export", "m", "x z.csv"}, 2, "(did you mean -o 'x z.csv'?)"},
		{[]string{"rechunk", "epochs_days_01.nc", "q.zarr", "--chunks", "1"}, 1, "epochs_days_01.nc is a group; name one of its arrays\n"},
		{[]string{"rechunk", "a group/g.zarr", "q.zarr", "--chunks", "1"}, 1, "'a group/g.zarr' is a group; name one of its arrays, or leave out the destination\n"},
	} {
		if _, errs, status := execute(t, "", c.args...); status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
	}
}

// TestMessagesOfSources says which command does what was meant, when files of other
// formats and manifests are given where they do not fit.
func TestMessagesOfSources(t *testing.T) {
	dir := foreign(t, "epochs_days_*.nc")
	t.Chdir(dir)
	if err := os.MkdirAll("far", 0o777); err != nil {
		t.Fatal(err)
	}
	must(t, "", "virtualize", "epochs_days_01.nc", "-o", "a.vz")
	out := must(t, "", "virtualize", "epochs_days_01.nc", "-o", "far/b.vz")
	if !strings.Contains(out, "to read it, give every command --allow "+dir) && !strings.Contains(out, "give every command --allow .") {
		t.Error(out)
	}
	for _, c := range []struct{ line, want string }{
		{"create n.zarr --from a.vz", "--from takes one array, such as a.vz/NAME; varve materialize a.vz n.zarr makes"},
		{"append n.zarr epochs_days_01.nc", "nothing is here; varve copy epochs_days_01.nc n.zarr makes it of the first source"},
		{"append n.zarr x.npy", "nothing is here; varve create n.zarr --from x.npy makes it of the first file"},
		{"cat far/b.vz/t", "a place that is not allowed: give --allow "},
	} {
		if _, errs, status := execute(t, "", strings.Fields(c.line)...); status != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s", c.line, status, errs)
		}
	}
	if _, errs, status := execute(t, "", "virtualize", "epochs_days_01.nc", "-o", "b.zarr"); status != 2 || !strings.Contains(errs, "varve materialize MANIFEST b.zarr") {
		t.Errorf("status %d, %s", status, errs)
	}
	overwrite(t, "x.npy", "")
	must(t, "", "copy", "a.vz", "a.zarr")
	must(t, "", "create", "none.zarr/time", "--shape", "0", "--dtype", "int32", "--dimension-names", "time", "--attributes", `{"units":"hours since 2000-01-01"}`)
	if out := must(t, "", "append", "a.zarr/time", "none.zarr/time", "--alone"); !strings.Contains(out, "31 → 31") {
		t.Errorf("an array of length 0: %s", out)
	}
	long := "n" + strings.Repeat("x", 240)
	must(t, "", "create", "long.zarr/"+long, "--shape", "2", "--dtype", "int8")
	if out := must(t, "", "virtualize", "long.zarr", "-o", "long.vz"); strings.Contains(out, long) || !strings.Contains(out, "nxx") {
		t.Errorf("a long name: %s", out)
	}
}
