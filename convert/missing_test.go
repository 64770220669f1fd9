// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestConvertMissing converts single arrays. The definition of missing values is
// translated as xarray reads it, and the note says how.
func TestConvertMissing(t *testing.T) {
	for name, c := range map[string]struct {
		descr, fill, attributes string // of format 2
		fill3, attributes3      string
		note                    string
		fill2                   string // after converting back, "" is as it was
		attributes2             string
	}{
		"integers": {descr: `"<i2"`, fill: "-99", fill3: "-99", attributes3: `{"_FillValue":-99}`, note: "the fill value -99, which"},
		"signed": {
			descr: `"|u1"`, fill: "255", attributes: `{"_Unsigned":"false"}`, fill3: "255",
			attributes3: `{"_Unsigned":"false","_FillValue":-1}`, note: "the fill value 255, which",
		},
		"unsigned": {
			descr: `"<i2"`, fill: "-1", attributes: `{"_Unsigned":"true"}`, fill3: "-1",
			attributes3: `{"_Unsigned":"true","_FillValue":-1}`, note: "the fill value -1, which",
		},
		"zero":       {descr: `"<i8"`, fill: "0", fill3: "0", attributes3: `{"_FillValue":0}`, note: "the fill value 0, which"},
		"floats":     {descr: `"<f4"`, fill: "-99.5", fill3: "-99.5", attributes3: `{"_FillValue":"AAAAAADgWMA="}`, note: "the fill value -99.5, which"},
		"infinite":   {descr: `"<f4"`, fill: `"-Infinity"`, fill3: `"-Infinity"`, attributes3: `{"_FillValue":"AAAAAAAA8P8="}`, note: `the fill value "-Infinity", which`},
		"NaN":        {descr: `">f8"`, fill: `"NaN"`, fill3: `"NaN"`, attributes3: `{"_FillValue":"AAAAAAAA+H8="}`, note: `the fill value "NaN", which`},
		"booleans":   {descr: `"|b1"`, fill: "false", fill3: "false", attributes3: `{"_FillValue":false}`, note: "the fill value false, which"},
		"complex":    {descr: `"<c8"`, fill: "[1.0,2.0]", fill3: "[1.0,2.0]", attributes3: `{"_FillValue":["AAAAAAAA8D8=","AAAAAAAAAEA="]}`, note: "the fill value [1.0,2.0], which"},
		"text":       {descr: `"<U4"`, fill: `""`, fill3: `""`, attributes3: `{"missing_value":""}`, note: "the attribute missing_value"},
		"bytes":      {descr: `"|S2"`, fill: `"AAA="`, fill3: `""`, attributes3: `{}`, note: "an ordinary value in format 3", fill2: "null"},
		"moments":    {descr: `"<M8[s]"`, fill: "0", fill3: "0", attributes3: `{}`},
		"other text": {descr: `"<U4"`, fill: `"x"`, attributes: `{"missing_value":"y"}`, fill3: `"x"`, attributes3: `{"missing_value":["y","x"]}`, note: "missing_value", fill2: "null", attributes2: `{"missing_value":["y","x"]}`},
		"null":       {descr: `"<i2"`, fill: "null", fill3: "0", attributes3: `{}`},
		"null and an attribute": {
			descr: `"<f4"`, fill: "null", attributes: `{"_FillValue":-99.5,"a":1}`, fill3: "0.0", attributes3: `{"_FillValue":"AAAAAADgWMA=","a":1}`,
			note: "the attribute _FillValue -99.5, which", fill2: "-99.5", attributes2: `{"a":1}`,
		},
		"both": {
			descr: `"<i2"`, fill: "0", attributes: `{"_FillValue":-99}`, fill3: "0", attributes3: `{"_FillValue":0}`,
			note: "in place of -99", attributes2: `{}`,
		},
		"no such number": {
			descr: `"<i2"`, fill: "null", attributes: `{"_FillValue":"none"}`, fill3: "0", attributes3: `{"_FillValue":"none"}`,
			note: `_FillValue "none" stays, and xarray cannot open such a group of format 3`, fill2: "null",
		},
		"number as text": {
			descr: `"<i2"`, fill: "null", attributes: `{"_FillValue":"-9999"}`, fill3: "0", attributes3: `{"_FillValue":"-9999"}`,
			note: `_FillValue "-9999" stays, and xarray cannot open such a group of format 3`, fill2: "null",
		},
		"list of one": {
			descr: `"<i2"`, fill: "null", attributes: `{"_FillValue":[-9999]}`, fill3: "0", attributes3: `{"_FillValue":-9999}`,
			note: "the attribute _FillValue -9999, which", fill2: "-9999", attributes2: `{}`,
		},
		"list of one float": {
			descr: `"<f4"`, fill: "null", attributes: `{"_FillValue":[-99.5]}`, fill3: "0.0", attributes3: `{"_FillValue":"AAAAAADgWMA="}`,
			note: "the attribute _FillValue -99.5, which", fill2: "-99.5", attributes2: `{}`,
		},
		"list of one text": {
			descr: `"<U4"`, fill: "null", attributes: `{"_FillValue":["x"]}`, fill3: `""`, attributes3: `{"missing_value":"x"}`,
			note: "becomes the attribute", fill2: "null", attributes2: `{"missing_value":"x"}`,
		},
		"list of several": {
			descr: `"<i2"`, fill: "null", attributes: `{"_FillValue":[-1,-2],"missing_value":-2}`, fill3: "0", attributes3: `{"missing_value":[-2,-1]}`,
			note: "becomes the attribute missing_value", fill2: "null", attributes2: `{"missing_value":[-2,-1]}`,
		},
		"no value": {
			descr: `"<f8"`, fill: "null", attributes: `{"_FillValue":null}`, fill3: "0.0", attributes3: `{}`,
			note: "is removed", fill2: "null", attributes2: `{}`,
		},
		"of a moment": {
			descr: `"<M8[s]"`, fill: "null", attributes: `{"_FillValue":0}`, fill3: "-9223372036854775808",
			attributes3: `{"_FillValue":0}`, note: "can have no _FillValue", fill2: "-9223372036854775808",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memtest.New()
			if c.attributes == "" {
				c.attributes = "{}"
			}
			document := fmt.Sprintf(`{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":%s,"fill_value":%s,"order":"C","filters":null,"compressor":null}`, c.descr, c.fill)
			for key, text := range map[string]string{".zarray": document, ".zattrs": named(t, c.attributes, `["x"]`)} {
				if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
					t.Fatal(err)
				}
			}
			r, err := convert.Convert(t.Context(), zarr.At(s, ""), 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			if note := r.Nodes[0].Missing; !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
				t.Errorf("the note is %q, want %q", note, c.note)
			}
			if r.Nodes[0].Lost != (name == "bytes") {
				t.Errorf("missing values are lost: %t", r.Nodes[0].Lost)
			}
			if note := r.Nodes[0].Missing; strings.HasPrefix(name, "list of one") && strings.Contains(note, "in place of") {
				t.Errorf("the note is %q", note)
			}
			if r.Nodes[0].Refused != strings.Contains(r.Nodes[0].Missing, "stays") {
				t.Errorf("xarray refuses it: %t", r.Nodes[0].Refused)
			}
			a := reopened(t, s, "")
			if got, fill := compacted(a.Attributes()), compacted(a.Metadata().FillValue); got != c.attributes3 || fill != c.fill3 {
				t.Errorf("format 3 has the fill value %s and attributes %s, want %s and %s", fill, got, c.fill3, c.attributes3)
			}
			if _, err := convert.Convert(t.Context(), zarr.At(s, ""), 2, nil); err != nil {
				t.Fatal(err)
			}
			a = reopened(t, s, "")
			fill, want, attributes := compacted(a.Metadata().FillValue), c.fill2, c.attributes2
			if a.Metadata().HasNullFill() {
				fill = "null"
			}
			switch {
			case want != "":
			case c.fill == "null" || c.note == "" && c.descr != `"<M8[s]"`:
				want = "null"
			default:
				want = c.fill3
			}
			if attributes == "" {
				attributes = c.attributes
			}
			if got := named(t, compacted(a.Attributes()), ""); fill != want || got != attributes {
				t.Errorf("back in format 2 it has the fill value %s and attributes %s, want %s and %s", fill, got, want, attributes)
			}
		})
	}
}

// named returns attributes of format 2 with other names of dimensions, or without any.
func named(t *testing.T, attributes, names string) string {
	t.Helper()
	raw, err := metadata.UnsetAttribute([]byte(attributes), "_ARRAY_DIMENSIONS")
	if err == nil && names != "" {
		raw, err = metadata.SetAttribute(raw, "_ARRAY_DIMENSIONS", []byte(names))
	}
	if err != nil {
		t.Fatal(err)
	}
	return compacted(raw)
}

// TestConvertNoMask converts arrays of which xarray does not read the fill value as
// missing, because no dimension has a name, or as levels of an image. The fill value
// stays in both directions, and no chunk is filled.
func TestConvertNoMask(t *testing.T) {
	const image = `{"multiscales":[{"version":"0.4","datasets":[{"path":"0"},{"path":"./s/1/"}]}]}`
	for name, c := range map[string]struct{ path, group, attributes string }{
		"no names":      {"a", "{}", "{}"},
		"image":         {"0", image, `{"_ARRAY_DIMENSIONS":["x"]}`},
		"nested":        {"s/1", image, `{"_ARRAY_DIMENSIONS":["x"]}`},
		"own attribute": {"0", image, `{"_FillValue":9}`},
	} {
		for _, inPlace := range []bool{true, false} {
			s := memtest.New()
			document := `{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|u1","fill_value":0,"order":"C","filters":null,"compressor":null,"dimension_separator":"/"}`
			for key, text := range map[string]string{
				"g/.zgroup": `{"zarr_format":2}`, "g/.zattrs": c.group, "g/s/.zgroup": `{"zarr_format":2}`,
				"g/" + c.path + "/.zarray": document, "g/" + c.path + "/.zattrs": c.attributes,
			} {
				if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
					t.Fatal(err)
				}
			}
			attributes := compacted(reopened(t, s, "g/"+c.path).Attributes())
			var done convert.Conversion
			for _, to := range []int{3, 2} {
				var err error
				if inPlace {
					done, err = convert.Convert(t.Context(), zarr.At(s, "g"), to, nil)
				} else {
					from := s
					s = memtest.New()
					done, err = convert.ConvertTo(t.Context(), zarr.At(from, "g"), zarr.At(s, "g"), to, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range done.Nodes {
					if n.Missing != "" || n.Filled != 0 {
						t.Errorf("%s to %d: %+v", name, to, n)
					}
				}
				a := reopened(t, s, "g/"+c.path)
				if fill := string(a.Metadata().FillValue); fill != "0" || a.Metadata().HasNullFill() {
					t.Errorf("%s to %d: the fill value is %s", name, to, fill)
				}
				want := attributes
				if to == 3 {
					want = named(t, attributes, "")
				}
				if got := compacted(a.Attributes()); got != want {
					t.Errorf("%s to %d: attributes %s, want %s", name, to, got, want)
				}
			}
		}
	}
}

func reopened(t *testing.T, s store.Store, path string) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, path).OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// compacted returns JSON without white space.
func compacted(raw []byte) string { return strings.Join(strings.Fields(string(raw)), "") }

// filledChunks are the chunks of sparse that format 2 needs.
const filledChunks = 3 + 3 + 4 + 1

// TestConvertFills converts arrays with missing chunks to format 2, in place and to
// another place. It stores as many chunks as the dry run reports, and the content does
// not change.
func TestConvertFills(t *testing.T) {
	for _, inPlace := range []bool{true, false} {
		src, keys := memtest.New(), metadata.V2Slash
		dst, path := store.Store(src), "g"
		if !inPlace {
			keys, dst, path = metadata.DefaultDot, trees.Directory(t), "other/h"
		}
		trees.Sparse(t, src, "g", keys)
		want, before := content(t, src, "g", 3), len(chunksOf(t, src, "g"))
		run := func(opt *convert.Options) (convert.Conversion, error) {
			if inPlace {
				return convert.Convert(t.Context(), zarr.At(src, "g"), 2, opt)
			}
			return convert.ConvertTo(t.Context(), zarr.At(src, "g"), zarr.At(dst, path), 2, opt)
		}
		if inPlace { // the group above would keep the other format
			if _, err := store.Write(t.Context(), src, store.Delete(store.MustKey("zarr.json")), store.Sync); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := run(&convert.Options{DryRun: true})
		if err != nil || len(chunksOf(t, src, "g")) != before {
			t.Fatalf("in place %t: a dry run changed something: %v", inPlace, err)
		}
		done, err := run(nil)
		if err != nil {
			t.Fatal(err)
		}
		var filled, bytes int64
		for i, n := range done.Nodes {
			if n != plan.Nodes[i] {
				t.Errorf("%+v was planned as %+v", n, plan.Nodes[i])
			}
			filled, bytes = filled+n.Filled, bytes+n.FilledBytes
		}
		if filled != filledChunks || bytes == 0 {
			t.Errorf("in place %t: %d chunks of %d bytes were stored, want %d", inPlace, filled, bytes, filledChunks)
		}
		if d := trees.Differ(want, content(t, dst, path, 2)); d != "" {
			t.Errorf("in place %t: another content: %s", inPlace, d)
		}
		if n := len(chunksOf(t, dst, path)); n != before+filledChunks {
			t.Errorf("in place %t: %d chunks are stored, want %d", inPlace, n, before+filledChunks)
		}
	}
}

// TestConvertFillsStopped stops such a conversion before every operation. The content is
// the same at any time, and another call finishes the conversion.
func TestConvertFillsStopped(t *testing.T) {
	racing.Skip(t)
	stop := errors.New("stopped")
	points := 0
	for k := 0; ; k++ {
		left := memtest.New()
		trees.Sparse(t, left, "", metadata.V2Dot)
		want, n := content(t, left, "", 0), 0
		s := stepping.Conditional(left, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
			if n++; n > k {
				return stop
			}
			return nil
		}})
		_, err := convert.Convert(t.Context(), zarr.At(s, ""), 2, &convert.Options{Options: zarr.Options{Concurrency: 1}})
		if err == nil {
			break
		}
		if points++; !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if d := trees.Differ(want, content(t, left, "", 0)); d != "" {
			t.Fatalf("stopped at %d: another content: %s", k, d)
		}
		if _, err := convert.Convert(t.Context(), zarr.At(left, ""), 2, nil); err != nil {
			t.Fatalf("stopped at %d: %v", k, err)
		}
		if d := trees.Differ(want, content(t, left, "", 2)); d != "" {
			t.Fatalf("stopped at %d and done again: another content: %s", k, d)
		}
	}
	t.Logf("%d points", points)
	if points < 60 {
		t.Errorf("%d points are too few", points)
	}
}

// TestConvertFillsRaced writes a chunk while the missing ones are stored: it stays.
func TestConvertFillsRaced(t *testing.T) {
	left := memtest.New()
	trees.Sparse(t, left, "", metadata.V2Dot)
	written := false
	s := stepping.Conditional(left, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if op.Key.String() == "sevens/2" && strings.HasPrefix(op.Name, "Put") && !written {
			written = true
			a, err := zarr.At(left, "sevens").OpenArray(ctx, &zarr.Options{Write: true})
			if err == nil {
				err = zarr.Fill(ctx, a, selection.Box{{6, 7}}, int32(99))
			}
			return err
		}
		return nil
	}})
	if _, err := convert.Convert(t.Context(), zarr.At(s, ""), 2, nil); err != nil || !written {
		t.Fatal(err, written)
	}
	got, err := zarr.Read[int32](t.Context(), reopened(t, left, "sevens"), nil)
	if err != nil || fmt.Sprint(got.Data) != "[7 7 7 7 0 7 99 7 7 7]" {
		t.Errorf("%v: %v", got, err)
	}
}

// TestConvertManyMissing converts an array with more missing chunks than are stored by
// default.
func TestConvertManyMissing(t *testing.T) {
	s := memtest.New()
	spec := zarr.Spec{Shape: []int64{20_002}, Chunks: []grid.Cut{grid.Every(2)}, Type: dtype.Int8, DimensionNames: []string{"x"}, KeyEncoding: metadata.V2Dot}
	a, err := zarr.At(s, "").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := trees.Values(t, s, "")
	taken := memtest.New() // no question about chunks for a place that is not free
	if _, err := zarr.At(taken, "").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.ConvertTo(t.Context(), a.Location(), zarr.At(taken, ""), 2, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("to a place that is not free: %v", err)
	}
	runs := map[string]func(*convert.Options) (convert.Conversion, error){
		"in place": func(o *convert.Options) (convert.Conversion, error) {
			return convert.Convert(t.Context(), a.Location(), 2, o)
		},
		"elsewhere": func(o *convert.Options) (convert.Conversion, error) {
			return convert.ConvertTo(t.Context(), a.Location(), zarr.At(memtest.New(), ""), 2, o)
		},
	}
	for _, name := range []string{"elsewhere", "in place"} {
		if r, err := runs[name](&convert.Options{DryRun: true}); err != nil || r.Nodes[0].Filled != 10_001 {
			t.Errorf("%s: the dry run finds %+v: %v", name, r, err)
		}
		_, err := runs[name](nil)
		if !errors.Is(err, convert.ErrManyMissing) || !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "10001 chunks") {
			t.Errorf("%s: %v", name, err)
		}
		if d := trees.Differ(before, trees.Values(t, s, "")); d != "" {
			t.Errorf("%s: changed: %s", name, d)
		}
		if _, err := runs[name](&convert.Options{FillAll: true}); err != nil {
			t.Errorf("%s, permitted: %v", name, err)
		}
	}
}
