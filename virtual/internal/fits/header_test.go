// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

// unitOf returns a header of records, followed by size bytes of data.
func unitOf(size int, cards ...string) []byte {
	var b strings.Builder
	for _, c := range append(cards, "END") {
		fmt.Fprintf(&b, "%-80s", c)
	}
	b.WriteString(strings.Repeat(" ", -b.Len()%blockBytes+blockBytes))
	return append([]byte(b.String()), make([]byte, (size+blockBytes-1)/blockBytes*blockBytes)...)
}

// primary is a primary header without data.
func primary(cards ...string) []byte {
	return unitOf(0, append([]string{"SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"}, cards...)...)
}

// image is an extension with three bytes.
func image(cards ...string) []byte {
	return unitOf(3, append([]string{"XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 3", "PCOUNT  = 0", "GCOUNT  = 1"}, cards...)...)
}

func scanUnits(t *testing.T, units ...[]byte) (*scan.Dataset, error) {
	t.Helper()
	var data []byte
	for _, u := range units {
		data = append(data, u...)
	}
	d, _, err := scanned.Bytes(t, data, Scan)
	if err == nil {
		scanned.Consistent(t, d, int64(len(data)))
	}
	return d, err
}

func TestKeywords(t *testing.T) {
	d, err := scanUnits(t, primary(
		"TEXT    = 'it''s one  '        / a comment with 'quotes'",
		"LEAD    = '  two'", "EMPTY   = ''", "BLANK   = '    '", "OPEN    = 'not closed",
		"YES     =                    T / true", "NO      =                    F",
		"INT     =                  -42", "PLUS    =                  +42", "FLOAT   =              1.5D-3/x", "WHOLE   =                   2.",
		"LARGE   = 123456789012345678901", "C       = (1, -2.5E0) / complex", "BARE    = some words", "NONE    = / undefined",
		"INT     = 43", "INF     = inf", "HEX     = 0x10",
		"COMMENT   first", "COMMENT second", "HISTORY made", "        = 'no name'", "NOVALUE 'text'",
		"LONG    = 'this is a long &'", "CONTINUE  'value, which &'", "CONTINUE  'continues' / here", "CONTINUE  'lost'",
		"AMP     = 'salt &'", "HIERARCH ESO DET GAIN = 2.5 / electrons", "LAST    = 'end &'", "CONTINUE  '' / nothing",
	))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Groups[0].Attributes.JSON()
	want := `{"TEXT":"it's one","LEAD":"  two","EMPTY":"","BLANK":"","OPEN":"not closed","YES":true,"NO":false,"INT":-42,"PLUS":42,` +
		`"FLOAT":0.0015,"WHOLE":2.0,"LARGE":1.2345678901234568e+20,"C":[1.0,-2.5],"BARE":"some words","INF":"inf","HEX":"0x10",` +
		`"LONG":"this is a long value, which continues","AMP":"salt \u0026","ESO DET GAIN":2.5,"LAST":"end ","COMMENT":"  first\nsecond","HISTORY":"made"}`
	if string(got) != want || err != nil {
		t.Errorf("%s\nwant %s\n%v", got, want, err)
	}
}

// TestRefused has data that are no images, between images.
func TestRefused(t *testing.T) {
	table := []string{"BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 6", "NAXIS2  = 500", "GCOUNT  = 1"}
	with := func(first string, more ...string) []byte {
		return unitOf(3000+10, append(append([]string{first, "PCOUNT  = 10"}, table...), more...)...)
	}
	axes := []string{"XTENSION= 'IMAGE'", "BITPIX  = 16", "NAXIS   = 65"}
	for i := range 65 {
		axes = append(axes, fmt.Sprintf("NAXIS%-3d= 1", i+1))
	}
	d, err := scanUnits(t, primary(), image(), with("XTENSION= 'BINTABLE'"), with("XTENSION= 'TABLE   '"), with("XTENSION= 'BINTABLE'", "ZIMAGE  = T", "ZCMPTYPE= 'RICE_1'"),
		with("XTENSION= 'FOREIGN'"), with("XTENSION= 'IMAGE'"), unitOf(2, axes...), image("EXTNAME = 'SCI'", "EXTVER  = 2"))
	if err != nil || len(d.Arrays) != 8 {
		t.Fatalf("%+v, %v", d, err)
	}
	for i, want := range []string{
		"", "a table (BINTABLE)", "a table (TABLE)", `compressed in tiles (ZCMPTYPE "RICE_1")`, `of the kind "FOREIGN"`, "10 parameters", "65 axes", "",
	} {
		err := d.Arrays[i].Refused
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, scan.ErrUnsupported) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", d.Arrays[i].Path, err, want)
		}
	}
	if d.Arrays[7].Path != "SCI_2" {
		t.Errorf("the path %q", d.Arrays[7].Path)
	}
}

// TestGroups has random groups, in a primary unit.
func TestGroups(t *testing.T) {
	d, err := scanUnits(t, unitOf(2*(1+6)*4, "SIMPLE  = T", "BITPIX  = -32", "NAXIS   = 3", "NAXIS1  = 0", "NAXIS2  = 2", "NAXIS3  = 3", "GROUPS  = T",
		"PCOUNT  = 1", "GCOUNT  = 2"), image())
	if err != nil || len(d.Arrays) != 2 || d.Arrays[0].Refused == nil || d.Arrays[1].Refused != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestPaths has names that are taken, or that no array can have.
func TestPaths(t *testing.T) {
	names := []string{"A", "A", "primary", "x/y", "..", "hdu_7", "hdu_7", "zarr.json"}
	units := [][]byte{primary()}
	for _, n := range names {
		units = append(units, image("EXTNAME = '"+n+"'"))
	}
	empty := unitOf(0, "XTENSION= 'IMAGE'", "BITPIX  = 8", "NAXIS   = 0", "EXTNAME = 'NOTES'", "WHY     = 'no data'")
	d, err := scanUnits(t, append(units, empty)...)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, a := range d.Arrays {
		paths = append(paths, a.Path)
	}
	if got := strings.Join(paths, " "); got != "A hdu_2 primary hdu_4 hdu_5 hdu_7 hdu_7_ hdu_8" {
		t.Error(got)
	}
	if g := d.Groups[1]; g.Path != "NOTES" || g.Attributes.Get("WHY") != "no data" {
		t.Errorf("%+v", g)
	}
}

// TestCut cuts a file. What comes after its last whole unit is damaged or missing.
func TestCut(t *testing.T) {
	whole := append(image(), image("EXTNAME = 'B'")...)
	whole = append(primary(), whole...)
	for n := 0; n <= len(whole); n += 5 {
		d, _, err := scanned.Bytes(t, whole[:n], Scan)
		switch begin := n / blockBytes; {
		case begin == 0, (begin == 1 || begin == 3) && n%blockBytes >= 8: // within a header
			if !errors.Is(err, scan.ErrCorrupt) {
				t.Fatalf("%d bytes: %v", n, err)
			}
		case err != nil:
			t.Fatalf("%d bytes: %v", n, err)
		case (begin == 2 || begin == 4) && n%blockBytes < 3: // within data
			if last := d.Arrays[len(d.Arrays)-1]; !errors.Is(last.Refused, scan.ErrCorrupt) {
				t.Fatalf("%d bytes: %v", n, last.Refused)
			}
		}
	}
	if d, err := scanUnits(t, whole, []byte("rest of a tape")); err != nil || len(d.Arrays) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestCorrupt(t *testing.T) {
	for want, cards := range map[string][]string{
		"BITPIX is 7":                {"BITPIX  = 7"},
		"BITPIX is text":             {"BITPIX  = 'text'"},
		"BITPIX is 0":                {"NAXIS   = 0"},
		"NAXIS is -1":                {"BITPIX  = 8"},
		"NAXIS is 1000":              {"BITPIX  = 8", "NAXIS   = 1000"},
		"NAXIS2 is missing":          {"BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 3"},
		"NAXIS1 is -3":               {"BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = -3"},
		"GCOUNT is 1.5":              {"BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 3", "GCOUNT  = 1.5"},
		"more than 2^63":             {"BITPIX  = 16", "NAXIS   = 1", "NAXIS1  = 9223372036854775807"},
		"SIMPLE is false":            {"BITPIX  = 8"},
		"headers of more than 67108": nil,
	} {
		simple := "SIMPLE  = T"
		if want == "SIMPLE is false" {
			simple = "SIMPLE  = F"
		}
		data := unitOf(0, append([]string{simple}, cards...)...)
		if cards == nil {
			data = append([]byte(fmt.Sprintf("%-80s", simple)), []byte(strings.Repeat(fmt.Sprintf("%-80s", "LONG    = 'x&'")+fmt.Sprintf("%-80s", "CONTINUE  'x&'"), 1<<19))...)
		}
		_, err := scanUnits(t, data)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRequests checks that a request is made for every header that is far from the last.
func TestRequests(t *testing.T) {
	var data []byte
	data = append(data, primary()...)
	for range 10 {
		data = append(data, unitOf(1<<20, "XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 1048576", "PCOUNT  = 0", "GCOUNT  = 1")...)
	}
	d, requests, err := scanned.Bytes(t, data, Scan)
	if err != nil || len(d.Arrays) != 10 || requests > 11 {
		t.Errorf("%d requests, %v", requests, err)
	}
}
