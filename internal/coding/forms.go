// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// repairer is the power of a codec with codecs of its own, some of which may be repaired.
type repairer interface {
	// Repaired is called after Bind. It returns the specified form of the codec, and what
	// was repaired. The form is ignored if nothing was.
	Repaired() (metadata.Extension, []Repair)
}

// Repair describes how metadata of a codec was read that does not follow its
// specification.
type Repair struct {
	// Note is one sentence for users of the array.
	Note string
	// Strict is the reason why no array may be created with such metadata. It is nil if
	// the metadata only spells the specified codec differently.
	Strict error
	// Misread is set if other programs read the metadata in another way, and return wrong
	// values.
	Misread bool
}

// form is a form of codec metadata that Varve reads but does not write.
type form struct {
	source string // which programs write it
	// read returns the specified form of the codec, with a note. The note is "" if e does
	// not have the form.
	read func(e metadata.Extension, spec codec.Spec) (now metadata.Extension, note string)
	// strict is set if no array may be created with the form.
	strict bool
}

// forms lists what programs have written before, or beside, the specified forms. It is
// consulted for a codec that was refused, and the first form that matches reads it.
// Package grid has such a list for chunk grids, package metadata for the rest of a
// document.
var forms = []form{
	{
		source: "drafts of zarr-specs v3; zarr-python 3 and zarrs read it",
		read:   readEndian,
	},
	{
		source: "early drafts of zarr-specs v3 (\"Transpose codec\"); zarrita.js and zarr-python 3 read or wrote it",
		read:   readOrderName,
	},
	{
		source: "zarr-python 3.1 (structured data types) and GDAL 3.12 (fixed_length_utf32): both store little endian",
		read:   readNoEndian,
		strict: true,
	},
	{
		source: "documents of format 2 keep the level that a program was given; zstd's library clamps levels out of range",
		read:   readLevel,
		strict: true,
	},
}

// readForm returns the specified form of a codec in one of the forms. err is the reason
// why the codec was refused.
func readForm(e metadata.Extension, spec codec.Spec, err error) (now metadata.Extension, r Repair, ok bool) {
	if !errors.Is(err, codec.ErrConfiguration) && !errors.Is(err, codec.ErrUnsupported) {
		return e, r, false
	}
	for _, f := range forms {
		now, note := f.read(e, spec)
		if note == "" {
			continue
		}
		if r.Note = note; f.strict {
			r.Strict = err
		}
		now.Optional = e.Optional
		return now, r, true
	}
	return e, r, false
}

// readEndian reads the name that the codec "bytes" had first.
func readEndian(e metadata.Extension, _ codec.Spec) (metadata.Extension, string) {
	if e.Name != "endian" {
		return e, ""
	}
	return metadata.Extension{Name: "bytes", Configuration: e.Configuration}, `the codec "endian" of older documents was read as "bytes"`
}

// readNoEndian reads elements of several bytes without a byte order, for the data types
// whose writers all leave out "little".
func readNoEndian(e metadata.Extension, spec codec.Spec) (metadata.Extension, string) {
	var c struct {
		Endian *string `json:"endian"`
	}
	// Only these data types are stored without a byte order.
	isKnown := spec.Type.Kind() == dtype.KindStruct || spec.Type.Kind() == dtype.KindUTF32
	if e.Name != "bytes" || !isKnown || codec.DecodeConfiguration(e.Configuration, &c) != nil || c.Endian != nil {
		return e, ""
	}
	note := fmt.Sprintf(`the codec "bytes" has no endian, which %s needs: it was read as "little" (zarr-python 3.1 and GDAL leave it out)`, spec.Type)
	return metadata.Extension{Name: e.Name, Configuration: []byte(`{"endian":"little"}`)}, note
}

// readOrderName reads orders of axes by name: "C" keeps them, "F" reverses them.
func readOrderName(e metadata.Extension, spec codec.Spec) (metadata.Extension, string) {
	var c struct {
		Order string `json:"order"`
	}
	if e.Name != "transpose" || codec.DecodeConfiguration(e.Configuration, &c) != nil || c.Order != "C" && c.Order != "F" {
		return e, ""
	}
	order := make([]byte, 0, 4*spec.Rank)
	for i := range spec.Rank {
		axis := i
		if c.Order == "F" {
			axis = spec.Rank - 1 - i
		}
		order = strconv.AppendInt(append(order, ','), int64(axis), 10)
	}
	order = slices.Concat([]byte(`{"order":[`), order[min(1, len(order)):], []byte(`]}`))
	note := fmt.Sprintf(`the codec "transpose" has the order %q of older documents: it was read as the permutation %s`, c.Order, order[len(`{"order":`):len(order)-1])
	return metadata.Extension{Name: e.Name, Configuration: order}, note
}

// levels is the range of the compression level of a codec.
type levels struct {
	member      string
	least, most int64
}

// levelsOf has the codecs, by all names, whose level does not affect decoding. "gzip" and
// "blosc" of format 3 are not among them: the specification sets their ranges, and
// programs observe these, so that other levels are a sign of hostile metadata.
var levelsOf = map[string]levels{
	"zstd": zstdLevels, "numcodecs.zstd": zstdLevels,
	"numcodecs.gzip": deflateLevels, "numcodecs.zlib": deflateLevels, "zlib": deflateLevels,
	"https://codec.zarrs.dev/bytes_to_bytes/zlib": deflateLevels,
	"numcodecs.bz2": bz2Levels, "bz2": bz2Levels, "https://codec.zarrs.dev/bytes_to_bytes/bz2": bz2Levels,
	"numcodecs.blosc": {"clevel", 0, 9},
	"numcodecs.lz4":   {"acceleration", math.MinInt64, math.MaxInt32},
}

var (
	zstdLevels    = levels{"level", -(1 << 17), 22}
	deflateLevels = levels{"level", -1, 9}
	bz2Levels     = levels{"level", 1, 9}
)

// readLevel replaces a level out of range by the nearest one.
func readLevel(e metadata.Extension, _ codec.Spec) (metadata.Extension, string) {
	l, known := levelsOf[e.Name]
	if !known || e.Configuration == nil {
		return e, ""
	}
	raw, found, err := metadata.Attribute(e.Configuration, l.member)
	var n codec.Int
	if !found || err != nil || n.UnmarshalJSON(raw) != nil {
		return e, ""
	}
	nearest := min(max(int64(n), l.least), l.most)
	// If the level is valid, the codec was refused for another reason.
	if nearest == int64(n) {
		return e, ""
	}
	e.Configuration, err = metadata.SetAttribute(e.Configuration, l.member, strconv.AppendInt(nil, nearest, 10))
	if err != nil {
		return e, ""
	}
	return e, fmt.Sprintf("%s %d of the codec %s is out of range: it was read as %d, which only chunks that are written now have",
		l.member, n, strictjson.AppendQuote(nil, e.Name), nearest)
}
