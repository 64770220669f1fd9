// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// patched writes a copy of a file of testdata in which bytes are replaced.
func patched(t *testing.T, dir, name, to string, changes ...[]byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if bytes.Count(data, changes[i]) != 1 || len(changes[i]) != len(changes[i+1]) {
			t.Fatalf("%s: %q is there %d times", name, changes[i], bytes.Count(data, changes[i]))
		}
		data = bytes.Replace(data, changes[i], changes[i+1], 1)
	}
	if err := os.WriteFile(filepath.Join(dir, to), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// section1 is the offset of the first section of a message.
const section1 = 16

// forecast writes a field of a forecast: its reference time is so many hours after
// 2026-11-01 00:00, and its step and level are given.
func forecast(t *testing.T, dir, name string, hours, step, pascal int) {
	t.Helper()
	data, err := os.ReadFile("testdata/grib_ieee.grib2")
	if err != nil {
		t.Fatal(err)
	}
	copy(data[section1+12:], []byte{0x07, 0xEA, 11, byte(1 + hours/24), byte(hours % 24), 0, 0})
	section3 := section1 + int(binary.BigEndian.Uint32(data[section1:]))
	section4 := section3 + int(binary.BigEndian.Uint32(data[section3:]))
	product := data[section4:]
	product[17] = 1 // hours
	binary.BigEndian.PutUint32(product[18:], uint32(step))
	product[23] = 0 // the scale factor of the level
	binary.BigEndian.PutUint32(product[24:], uint32(pascal))
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// numbersOf returns the elements of an array as floats.
func numbersOf(t *testing.T, location string) (shape []int64, values []float64) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := zarr.ReadAs[float64](t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Shape, b.Data
}

// finished stores what was joined.
func finished(t *testing.T, dir string, j *virtual.Joined, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return stored(t, dir, m)
}

const epoch = 1793491200.0 // 2026-11-01

// TestForecastsArrive joins fields of one time each along the time, and adds one that
// arrives later. The times become a coordinate, and every field is at its own.
func TestForecastsArrive(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"f00", "f06", "f12"} {
		forecast(t, dir, name, 6*i, 0, 50000)
	}
	forecast(t, dir, "f48", 48, 0, 50000)
	j, err := collect(t, dir, virtual.Join{Concat: "time"}, "f00", "f06")
	at := finished(t, dir, j, err)
	extended(t, dir, at, "f12", "f48")
	shape, times := numbersOf(t, filepath.Join(at, "time"))
	if !slices.Equal(shape, []int64{4}) || !slices.Equal(times, []float64{epoch, epoch + 6*3600, epoch + 12*3600, epoch + 48*3600}) {
		t.Errorf("times %v of shape %v", times, shape)
	}
	a := opened(t, filepath.Join(at, "t_isobaric"))
	if !slices.Equal(a.DimensionNames(), []string{"time", "latitude", "longitude"}) || a.Shape()[0] != 4 {
		t.Errorf("dimensions %v, shape %v", a.DimensionNames(), a.Shape())
	}
	said := attributesOf(t, a)
	if said["time"] != nil || said["level"] != 50000.0 || said["step_seconds"] != 0.0 {
		t.Errorf("attributes %v", said)
	}
	alone := t.TempDir()
	forecast(t, alone, "f00", 0, 0, 50000)
	j, err = collect(t, alone, virtual.Join{}, "f00")
	want := elementsOf(t, filepath.Join(finished(t, alone, j, err), "t_isobaric"))
	if got := elementsOf(t, filepath.Join(at, "t_isobaric")); !bytes.Equal(got, bytes.Repeat(want, 4)) {
		t.Errorf("%d bytes, want four times %d", len(got), len(want))
	}
}

// TestTimesAndSteps joins fields along every axis that they can have, files with several
// times and with one, and manifests of forecasts along the time.
func TestTimesAndSteps(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		for k, step := range []string{"0", "3"} {
			forecast(t, dir, name+step, 6*i, 3*k, 50000)
		}
	}
	var runs []string
	for _, name := range []string{"a", "b"} {
		j, err := collect(t, dir, virtual.Join{Concat: "step"}, name+"0", name+"3")
		at := finished(t, dir, j, err)
		if err := os.Rename(at, filepath.Join(dir, name+".vz")); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, name+".vz")
	}
	j, err := collect(t, dir, virtual.Join{Concat: "time"}, runs...)
	at := finished(t, dir, j, err)
	if names := opened(t, filepath.Join(at, "t_isobaric")).DimensionNames(); !slices.Equal(names, []string{"time", "step", "latitude", "longitude"}) {
		t.Errorf("dimensions %v", names)
	}
	for name, want := range map[string][]float64{"time": {epoch, epoch + 6*3600}, "step": {0, 3 * 3600}} {
		if _, got := numbersOf(t, filepath.Join(at, name)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	forecast(t, dir, "low", 0, 0, 85000)
	j, err = collect(t, dir, virtual.Join{Concat: "level"}, "a0", "low")
	at = finished(t, dir, j, err)
	if _, got := numbersOf(t, filepath.Join(at, "level")); !slices.Equal(got, []float64{50000, 85000}) {
		t.Errorf("levels %v", got)
	}
	if said := attributesOf(t, opened(t, filepath.Join(at, "level"))); said["units"] != "Pa" {
		t.Errorf("attributes %v", said)
	}
}

// TestFieldsOfSeveralTimes joins a file with two times, which has the axis, and files
// with one, which lack it, in any order.
func TestFieldsOfSeveralTimes(t *testing.T) {
	for name, files := range map[string][]string{"two first": {"two", "later"}, "two last": {"first", "two"}} {
		dir := t.TempDir()
		var two []byte
		for i, name := range []string{"first", "second", "third", "later"} {
			forecast(t, dir, name, 6*i, 0, 50000)
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			} else if name == "second" || name == "third" {
				two = append(two, data...)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "two"), two, 0o666); err != nil {
			t.Fatal(err)
		}
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, slices.Clone(files)...)
		at := finished(t, dir, j, err)
		_, times := numbersOf(t, filepath.Join(at, "time"))
		want := []float64{epoch, epoch + 6*3600, epoch + 12*3600}
		if files[0] == "two" {
			want = []float64{epoch + 6*3600, epoch + 12*3600, epoch + 18*3600}
		}
		if shape := opened(t, filepath.Join(at, "t_isobaric")).Shape(); !slices.Equal(times, want) || shape[0] != 3 {
			t.Errorf("%s: times %v, shape %v", name, times, shape)
		}
	}
	// Arrays of one file with several times each have no coordinate in common.
	dir := t.TempDir()
	forecast(t, dir, "a", 0, 0, 50000)
	forecast(t, dir, "b", 6, 0, 50000)
	a, err := os.ReadFile(filepath.Join(dir, "a"))
	b, also := os.ReadFile(filepath.Join(dir, "b"))
	if err := errors.Join(err, also); err != nil {
		t.Fatal(err)
	}
	b[section1+int(binary.BigEndian.Uint32(b[section1:]))+14]++ // another grid
	if err := os.WriteFile(filepath.Join(dir, "both"), slices.Concat(a, b), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(t, dir, virtual.Join{Concat: "time"}, "both"); !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), "no coordinate in common") {
		t.Errorf("two times in one file: %v", err)
	}
}

// TestPlacesOfFields joins fields whose places differ along another axis than that of the
// join, or whose grids do.
func TestPlacesOfFields(t *testing.T) {
	dir := t.TempDir()
	forecast(t, dir, "first", 0, 0, 50000)
	forecast(t, dir, "later", 6, 0, 50000)
	forecast(t, dir, "step", 0, 3, 50000)
	forecast(t, dir, "lower", 0, 0, 85000)
	grid := func(name string, change func(section3 []byte)) {
		forecast(t, dir, name, 0, 0, 50000)
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		change(data[section1+int(binary.BigEndian.Uint32(data[section1:])):])
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	grid("sphere", func(s []byte) { s[14]++ })
	grid("mercator 1", func(s []byte) { s[13] = 20 })
	grid("mercator 2", func(s []byte) { s[13], s[50] = 20, s[50]+1 })
	for _, tt := range []struct {
		how   virtual.Join
		files []string
		want  string
	}{
		{virtual.Join{Stack: "run"}, []string{"first", "later"}, "--concat time"},
		{virtual.Join{Stack: "time"}, []string{"first", "later"}, "concatenate files along it"},
		{virtual.Join{Concat: "time"}, []string{"first", "step"}, "--concat step"},
		{virtual.Join{Concat: "time"}, []string{"first", "lower"}, "attribute level is 85000"},
		{virtual.Join{Concat: "time"}, []string{"first", "sphere"}, "attribute grid_octets"},
		{virtual.Join{Concat: "time"}, []string{"mercator 1", "mercator 2"}, "attribute grid_octets"},
		{virtual.Join{Stack: "run"}, []string{"mercator 1", "mercator 2"}, "attribute grid_octets"},
	} {
		_, err := collect(t, dir, tt.how, slices.Clone(tt.files)...)
		if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v of %v: %v, want %q", tt.how, tt.files, err, tt.want)
		}
	}
}

// TestPlacesOfImages joins images of other places, sizes of pixels, units and systems of
// coordinates. An image that continues below another one, or beside it, fits.
func TestPlacesOfImages(t *testing.T) {
	dir := t.TempDir()
	number := func(x float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(x)) }
	const tif, image = "geotiff_lzw_floats.tif", "fits_image.fits"
	x, y, scale := number(5), number(50), number(0.25)
	patched(t, dir, tif, "a.tif")
	patched(t, dir, tif, "east.tif", x, number(6))
	patched(t, dir, tif, "fine.tif", slices.Concat(scale, scale), slices.Concat(number(0.5), number(0.5)))
	rows := opened(t, filepath.Join(joinedImages(t, virtual.Join{}, tif), "full")).Shape()[0]
	patched(t, dir, tif, "below.tif", y, number(50-0.25*float64(rows)))
	patched(t, dir, image, "a.fits")
	card := func(text string) []byte { return []byte(text + strings.Repeat(" ", 80-len(text))) }
	blank := bytes.Repeat([]byte(" "), 80)
	end := slices.Concat(card("END"), blank)
	patched(t, dir, image, "units.fits", []byte("'Jy      '"), []byte("'mJy     '"))
	patched(t, dir, image, "place.fits", end[:160], slices.Concat(card("CRVAL1  = 10.5"), card("END")))
	patched(t, dir, image, "scaled.fits", end[:160], slices.Concat(card("BSCALE  = 2.0"), card("END")))
	patched(t, dir, image, "unscaled.fits", end[:160], slices.Concat(card("BSCALE  = 1.0"), card("END")))
	patched(t, dir, image, "named.fits", []byte("'M31     '"), []byte("'M32     '"))
	for _, tt := range []struct {
		how   virtual.Join
		files []string
		want  string // of the error, "" for none
	}{
		{virtual.Join{Stack: "n"}, []string{"a.tif", "east.tif"}, "element 3 of its attribute ModelTiepoint is 6"},
		{virtual.Join{Stack: "n"}, []string{"a.tif", "below.tif"}, "ModelTiepoint"},
		{virtual.Join{Concat: "y"}, []string{"a.tif", "east.tif"}, "ModelTiepoint"},
		{virtual.Join{Concat: "y"}, []string{"a.tif", "below.tif"}, ""},
		{virtual.Join{Concat: "x"}, []string{"a.tif", "below.tif"}, "ModelTiepoint"},
		{virtual.Join{Stack: "n"}, []string{"a.tif", "fine.tif"}, "ModelPixelScale"},
		{virtual.Join{Stack: "n"}, []string{"a.fits", "units.fits"}, `attribute BUNIT is "mJy"`},
		{virtual.Join{Stack: "n"}, []string{"a.fits", "place.fits"}, "CRVAL1"},
		{virtual.Join{Stack: "n"}, []string{"a.fits", "unscaled.fits"}, ""},
		{virtual.Join{Stack: "n"}, []string{"a.fits", "named.fits"}, ""},
	} {
		j, err := collect(t, dir, tt.how, slices.Clone(tt.files)...)
		if tt.want == "" {
			if _, err := j.Finish(); err != nil {
				t.Errorf("%v of %v: %v", tt.how, tt.files, err)
			}
		}
		if tt.want != "" && !errors.Is(err, virtual.ErrMismatch) || err != nil && !strings.Contains(err.Error(), tt.want) || tt.want == "" && err != nil {
			t.Errorf("%v of %v: %v, want %q", tt.how, tt.files, err, tt.want)
		}
	}
	if _, err := collect(t, dir, virtual.Join{Stack: "n"}, "a.fits", "scaled.fits"); !errors.Is(err, virtual.ErrMismatch) {
		t.Errorf("another scale: %v", err)
	}
}

// TestStatements joins arrays whose attributes differ. Some must agree, in whatever
// spelling; others are left out, with a note.
func TestStatements(t *testing.T) {
	type attributes = map[string]any
	gdal := func(items string) attributes {
		return attributes{"GDAL_METADATA": "<GDALMetadata>" + items + "</GDALMetadata>"}
	}
	const scale = `<Item name="SCALE" sample="0" role="scale">`
	for name, tt := range map[string]struct {
		old, fresh attributes
		want       string // "agree", "refused", or the name that is left out
	}{
		"units":               {attributes{"units": "K"}, attributes{"units": "degC"}, "refused"},
		"names of a unit":     {attributes{"units": "K"}, attributes{"units": "kelvin"}, "agree"},
		"spelled dates":       {attributes{"units": "days since 2000-1-1"}, attributes{"units": "days since 2000-01-01"}, "agree"},
		"calendars":           {attributes{"calendar": "365_day"}, attributes{"calendar": "NoLeap"}, "agree"},
		"the usual calendar":  {attributes{}, attributes{"calendar": "Gregorian"}, "agree"},
		"other calendars":     {attributes{}, attributes{"calendar": "noleap"}, "refused"},
		"no scale":            {attributes{"scale_factor": 1.0}, attributes{}, "agree"},
		"a list of one":       {attributes{"scale_factor": 2}, attributes{"scale_factor": []float64{2}}, "agree"},
		"a scale":             {attributes{"scale_factor": 2}, attributes{}, "refused"},
		"a standard name":     {attributes{"standard_name": "air_temperature"}, attributes{"standard_name": "dew_point_temperature"}, "refused"},
		"no standard name":    {attributes{"standard_name": "air_temperature"}, attributes{}, "standard_name"},
		"a system":            {attributes{"proj:code": "EPSG:32633"}, attributes{"proj:code": "EPSG:32634"}, "refused"},
		"a projection":        {attributes{"grid_mapping_name": "mercator", "a": 1}, attributes{"grid_mapping_name": "mercator", "a": 2}, "refused"},
		"a described mapping": {attributes{"grid_mapping_name": "mercator", "comment": 1}, attributes{"grid_mapping_name": "mercator"}, "comment"},
		"world coordinates":   {attributes{"CD1_2A": 0.1}, attributes{"CD1_2A": 0.2}, "refused"},
		"a distortion":        {attributes{"A_2_0": 0.1}, attributes{}, "refused"},
		"an observation":      {attributes{"DATE-OBS": "2026-01-01"}, attributes{"DATE-OBS": "2026-01-02"}, "DATE-OBS"},
		"a history":           {attributes{"history": "a"}, attributes{"history": "b"}, "history"},
		"only the second":     {attributes{}, attributes{"history": "b"}, "history"},
		"a difference":        {attributes{"units": "K"}, attributes{"units": "K", "units_metadata": "temperature: difference"}, "refused"},
		"turned images":       {attributes{}, attributes{"Orientation": 3}, "refused"},
		"the usual way up":    {attributes{}, attributes{"Orientation": 1}, "agree"},
		"a list of a unit":    {attributes{"units": []string{"K"}}, attributes{"units": "kelvin"}, "agree"},
		"a list of names":     {attributes{"coordinates": "lat lon"}, attributes{"coordinates": "lon lat"}, "agree"},
		"no data":             {attributes{"GDAL_NODATA": "0"}, attributes{"GDAL_NODATA": "255"}, "refused"},
		"a scale of GDAL":     {gdal(scale + "0.1</Item>"), gdal(scale + "0.2</Item>"), "refused"},
		"none of GDAL":        {gdal(scale + "1</Item>"), attributes{}, "GDAL_METADATA"},
		"a unit of GDAL":      {attributes{}, gdal(`<Item name="UNITTYPE" sample="0" role="unittype">K</Item>`), "refused"},
		"damaged XML":         {gdal("<"), gdal("<Item"), "refused"},
	} {
		dir := t.TempDir()
		for i, said := range []attributes{tt.old, tt.fresh} {
			node(t, dir, []string{"a.zarr", "b.zarr"}[i]+"/v", []int32{1, 2}, []string{"x"}, []int64{2}, said, "")
		}
		j, err := collect(t, dir, virtual.Join{Stack: "n"}, "a.zarr", "b.zarr")
		if tt.want == "refused" {
			if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), "attribute") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		notes := strings.Join(j.Notes(), "\n")
		said := attributesOf(t, opened(t, filepath.Join(finished(t, dir, j, err), "v")))
		if tt.want != "agree" && !strings.Contains(notes, tt.want) {
			t.Errorf("%s: the notes are %q", name, notes)
		}
		for attribute := range tt.old {
			if left := attribute == tt.want; left != (said[attribute] == nil) || left != strings.Contains(notes, attribute) {
				t.Errorf("%s: %s is %v afterwards, with the notes %q", name, attribute, said[attribute], notes)
			}
		}
	}
}

// TestCommonItems joins images with items of GDAL: those that all have stay.
func TestCommonItems(t *testing.T) {
	dir := t.TempDir()
	for i, day := range []string{"01", "02"} {
		text := `<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.5</Item><Item name="BAND">red &amp; near</Item><Item name="DAY">` + day + `</Item></GDALMetadata>`
		node(t, dir, []string{"a.zarr", "b.zarr"}[i]+"/v", []int32{1, 2}, []string{"x"}, []int64{2}, map[string]any{"GDAL_METADATA": text}, "")
	}
	j, err := collect(t, dir, virtual.Join{Stack: "n"}, "a.zarr", "b.zarr")
	text, _ := attributesOf(t, opened(t, filepath.Join(finished(t, dir, j, err), "v")))["GDAL_METADATA"].(string)
	const want = `<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.5</Item><Item name="BAND">red &amp; near</Item></GDALMetadata>`
	if text != want || len(j.Notes()) != 1 {
		t.Errorf("items %s, notes %q", text, j.Notes())
	}
}

// extended adds files to a stored manifest.
func extended(t *testing.T, dir, at string, files ...string) {
	t.Helper()
	c, err := virtual.NewCollector(at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath(filepath.Base(at))
	if err != nil {
		t.Fatal(err)
	}
	m, err := virtual.Open(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := virtual.Extend(t.Context(), m, at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Join(dir, files[i])
	}
	if err := c.Collect(t.Context(), j, files); err != nil {
		t.Fatal(err)
	}
	if m, err = j.Finish(); err == nil {
		err = m.Update(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, location string) *zarr.Array {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func attributesOf(t *testing.T, a *zarr.Array) (said map[string]any) {
	t.Helper()
	if err := json.Unmarshal(a.Metadata().Attributes, &said); err != nil {
		t.Fatal(err)
	}
	return said
}
