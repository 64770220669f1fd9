// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"varve.dev/zarr"
)

// caseStep is a command in the folder of a case. Its output must have every text of want;
// a text that begins with "=" is all of it, without white space.
type caseStep struct {
	line   string
	status int
	want   []string
}

func succeeds(line string, want ...string) caseStep { return caseStep{line, 0, want} }
func fails(line string, want ...string) caseStep    { return caseStep{line, 1, want} }

// cases are files and nodes of other programs, by their folders in testdata/cases.zip.
// Varve once read them wrong, refused them, or dropped parts without a word. Each gives
// the values that its program reads, is refused with the reason, or has a note.
var cases = map[string][]caseStep{
	"02": { // hard, soft and dangling links of HDF5
		succeeds("virtualize links.h5 -o o.vz", "left out: dangling of links.h5"), succeeds("export o.vz/t --format json", "=[0.0,2.0,4.0]"),
		succeeds("export o.vz/hard --format json", "=[0.0,2.0,4.0]"), succeeds("export o.vz/soft --format json", "=[0.0,2.0,4.0]"),
		succeeds("export o.vz/g/up --format json", "=[0.0,2.0,4.0]"),
	},
	"03": append(synonyms("standard-gregorian", "365_day-noleap", "366_day-all_leap", "standard-Standard", "None-standard", "gregorian-None"),
		fails("virtualize standard-noleap-1.nc standard-noleap-2.nc --concat time -o no.vz", "standard-noleap-2.nc: time: its attribute calendar")),
	// A stack of ImageJ with one IFD; the test compares it with values.npy.
	"05": {succeeds("virtualize stack.tif -o o.vz", "full  uint16  4 × 16 × 20"), succeeds("export o.vz/full -o got.npy")},
	// Headings of bulletins before the first message.
	"06": {
		succeeds("virtualize plain.grib2 -o plain.vz"), succeeds("virtualize wmo.grib2 -o wmo.vz"), succeeds("virtualize ndfd.grib2 -o ndfd.vz"),
		succeeds("diff plain.vz/t_height_above_ground wmo.vz/t_height_above_ground"), succeeds("diff plain.vz/t_height_above_ground ndfd.vz/t_height_above_ground"),
	},
	"07": { // chunks with the separator that the document does not name
		fails("check zsep", "which have another separator or prefix", "unexplained"), succeeds("info --stats zsep", "unexplained"),
		succeeds("vacuum zsep --grace 0s --yes", "kept: no record says what they are"),
	},
	"08": {succeeds("copy --move src dst")},
	"09": {
		succeeds("copy src dst"), succeeds("tree src", "a:b", "T:2m"), succeeds("diff src dst"), succeeds("equal src dst"), succeeds("consolidate src"),
		succeeds("rm --yes dst/a:b"), fails("diff src dst", "a:b"), fails("equal src dst", "a:b"),
	},
	"10": { // an archive with bytes before it
		succeeds("export plain.zip/a --format json", "=[0,1,2,3,4,5,6,7,8,9]"), succeeds("export prep.zip/a --format json", "=[0,1,2,3,4,5,6,7,8,9]"),
	},
	"11": { // BZERO, BSCALE and BLANK of FITS
		succeeds("virtualize u2.fits -o u2.vz"), succeeds("export u2.vz/primary --decode --format json", "=[[0.0,1.0,32768.0],[40000.0,65535.0,7.0]]"),
		succeeds("virtualize scaled.fits -o s.vz"), succeeds("export s.vz/primary --decode --format csv", "=nan,12.520,38"),
	},
	"12": {
		succeeds("create to/w --shape 2,3 --dtype int32 --chunks 2,3 --dimension-names t,y"), succeeds("create same/w --shape 2,3 --dtype int32 --chunks 2,3 --dimension-names t,y"),
		succeeds("create from/w --shape 2,3 --dtype int32 --chunks 2,3 --dimension-names y,t"), succeeds("append to/w same/w"), fails("append to/w from/w", `it is the axis "y" there and "t" here`),
	},
	"13": { // zeros are black in images
		succeeds("pyramid img.zarr --levels 1 --method mean"), succeeds("export img.zarr/1 --format json", "=[[0,0,200,200],[0,25,200,200],[0,0,200,200],[0,0,200,200]]"),
	},
	// A variable that is shorter than its unlimited dimension.
	"15": {succeeds("virtualize short.nc -o o.vz"), succeeds("export o.vz/b --format json", "=[7,8,-9,-9,-9]")},
	"20": {succeeds("export b --select 0,:4 --format json", "=[-9,6,-5,31]"), succeeds("info b", "zarr-python does not, and returns wrong values")},
	"21": { // fields of two times
		succeeds("virtualize r0.grib2 r1.grib2 --concat time -o c.vz", "time  int64  2"),
		fails("virtualize r0.grib2 r1.grib2 --stack time -o x.vz", `r0.grib2: t_height_above_ground: it has a place along the axis "time"`),
	},
	// A field on two grids: with the same values, of which no packed ones are left.
	"22": {fails("virtualize m0.grib2 m1.grib2 --stack run -o x.vz", "m1.grib2: d0_c14_p193_sigma_average: element", "attribute grid_octets")},
	// A constant field without data. Floats have a point in every text, so also 0.
	"23": {succeeds("virtualize in.grb2 -o x.vz"), succeeds("export x.vz/d0_c1_p194_surface_average --format csv --select 72,142:", "=00"), succeeds("cat x.vz/d0_c1_p194_surface_average", "0")},
	"24": { // levels of another program
		succeeds("create i.zarr/s0 --shape 64,64 --dtype uint8 --dimension-names y,x"), succeeds("create i.zarr/s1 --shape 32,32 --dtype uint8 --dimension-names y,x"),
		succeeds("create i.zarr/s2 --shape 16,16 --dtype uint8 --dimension-names y,x"), succeeds("pyramid i.zarr"),
	},
	"25": {succeeds("create t.zarr/r10m/b02 --shape 120,120 --dtype uint16 --chunks 32 --dimension-names y,x"), succeeds("pyramid t.zarr/r10m/b02")},
	"26": {succeeds("convert s.zarr d.zarr --to 2", "1 file outside of the Zarr nodes")},
	"27": {succeeds("virtualize in.h5 -o x.vz", "DS1  int64  4 × 3 × 5"), succeeds("export x.vz/DS1 --select 1,2 --format json", "=[2,1,0,-1,-2]")},
	"28": { // one of two variables is damaged
		succeeds("virtualize bad.nc -o x.vz", "note: a: it is in the manifest, but its values in bad.nc cannot be read"), succeeds("export x.vz/b --select 0,:3 --format json", "=[0,7,14]"),
		fails("export x.vz/a --format json", "checksum does not match"),
	},
	"29": {fails("virtualize g0.tif g1.tif --stack n -o x.vz", "g1.tif: full: element 0 of its attribute ModelPixelScale is 30.0, and in g0.tif it is 10.0")},
	"30": {fails("virtualize u0.fits u1.fits --stack n -o x.vz", `u1.fits: primary: its attribute BUNIT is "mJy", and in u0.fits it is "ct"`)},
}

// synonyms are the steps for pairs of files whose calendars are one.
func synonyms(pairs ...string) (steps []caseStep) {
	for _, p := range pairs {
		steps = append(steps, succeeds(fmt.Sprintf("virtualize %[1]s-1.nc %[1]s-2.nc --concat time -o %[1]s.vz", p)), succeeds("export "+p+".vz/time --format json", "=[0.0,1.0,2.0,3.0]"))
	}
	return steps
}

// caseNames are the arrays of cases 08 and 09, as zarr-python writes them on Linux.
var caseNames = []string{"good", "a:b", "ta\tb", "T:2m/q"}

// caseInputs make what is not in the archive.
var caseInputs = map[string]func(t *testing.T){
	"08": namedArrays, "09": namedArrays,
	"12": func(t *testing.T) {
		for _, group := range []string{"to", "same", "from"} {
			must(t, "", "create", group, "--group")
		}
	},
	"24": func(t *testing.T) {
		var levels []string
		for i := range 3 {
			levels = append(levels, fmt.Sprintf(`{"path":"s%d","coordinateTransformations":[{"type":"scale","scale":[%d,%[2]d]}]}`, i, 1<<i))
		}
		overwrite(t, "i.zarr/zarr.json", fmt.Sprintf(`{"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5","multiscales":[
			{"name":"image","axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[%s]}]}}}`, strings.Join(levels, ",")))
	},
	"25": func(t *testing.T) {
		must(t, "", "create", "t.zarr", "--group")
		must(t, "", "create", "t.zarr/r10m", "--group")
	},
	"26": func(t *testing.T) {
		must(t, "", "create", "s.zarr", "--group")
		must(t, "", "create", "s.zarr/points", "--group")
		overwrite(t, "s.zarr/points/points.parquet", "PAR1")
	},
}

// caseResults check what the output of commands does not say.
var caseResults = map[string]func(t *testing.T){
	"05": func(t *testing.T) { sameText(t, "got.npy", "values.npy") },
	"07": func(t *testing.T) { stays(t, "zsep/0/0") },
	"08": func(t *testing.T) {
		for _, name := range caseNames {
			stays(t, "dst/"+name+"/c/0")
		}
	},
	"24": func(t *testing.T) {
		if text, err := os.ReadFile("i.zarr/zarr.json"); err != nil || strings.Count(string(text), `"path"`) != 3 {
			t.Errorf("the image has other levels: %v, %s", err, text)
		}
	},
	"25": func(t *testing.T) { // as xarray.open_datatree needs them
		g, err := zarr.OpenGroup(t.Context(), "t.zarr", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		lengths, arrays := map[string]int64{}, 0
		for m, err := range g.Members(t.Context(), true) {
			a, ok := m.Node.(*zarr.Array)
			if err != nil || !ok {
				continue
			}
			arrays++
			for i, name := range a.DimensionNames() {
				in := filepath.Dir(m.Path) + ": " + name
				if n, ok := lengths[in]; ok && n != a.Shape()[i] {
					t.Errorf("%s: lengths %d and %d", in, n, a.Shape()[i])
				}
				lengths[in] = a.Shape()[i]
			}
		}
		if arrays < 3 {
			t.Errorf("%d arrays", arrays)
		}
	},
	"26": func(t *testing.T) { sameText(t, "d.zarr/points/points.parquet", "s.zarr/points/points.parquet") },
}

// TestCases runs the commands of every case.
func TestCases(t *testing.T) {
	archive, err := zip.OpenReader("testdata/cases.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, f := range archive.File {
		if folder, _, _ := strings.Cut(f.Name, "/"); cases[folder] == nil {
			t.Errorf("%s belongs to no case", f.Name)
		}
	}
	for name, steps := range cases {
		if runtime.GOOS == "windows" && (name == "08" || name == "09") { // it has no such names
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if in, err := fs.Sub(archive, name); err == nil {
				if _, err := fs.Stat(archive, name); err == nil {
					if err := os.CopyFS(".", in); err != nil {
						t.Fatal(err)
					}
				}
			}
			if add := caseInputs[name]; add != nil {
				add(t)
			}
			for _, s := range steps {
				s.run(t)
			}
			if look := caseResults[name]; look != nil {
				look(t)
			}
		})
	}
}

func (s caseStep) run(t *testing.T) {
	t.Helper()
	out, errs, status := execute(t, "", strings.Fields(s.line)...)
	if status != s.status {
		t.Errorf("%s: status %d, %s%s", s.line, status, out, errs)
	}
	for _, want := range s.want {
		all, whole := strings.CutPrefix(want, "=")
		if whole && strings.Join(strings.Fields(out), "") != all || !whole && !strings.Contains(out+errs, want) {
			t.Errorf("%s: %q is not %q", s.line, out+errs, want)
		}
	}
}

// namedArrays makes the group src with arrays of names that some systems do not have.
func namedArrays(t *testing.T) {
	const group = `{"zarr_format":3,"node_type":"group"}`
	overwrite(t, "src/zarr.json", group)
	overwrite(t, "src/T:2m/zarr.json", group)
	for _, name := range caseNames {
		overwrite(t, "src/"+name+"/zarr.json", `{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"int8","fill_value":0,"codecs":["bytes"],
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},"chunk_key_encoding":{"name":"default"}}`)
		overwrite(t, "src/"+name+"/c/0", "\x01\x02\x03")
	}
}

func stays(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func sameText(t *testing.T, file, other string) {
	t.Helper()
	a, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(other); err != nil || string(a) != string(b) {
		t.Errorf("%s differs from %s (%v)", file, other, err)
	}
}
