// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/columnar"
)

// written returns a file of one row group, and its metadata.
func written(t testing.TB, f columnar.Field, c columnar.Column) ([]byte, *Reader) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, &columnar.Schema{Fields: []columnar.Field{f}}, Options{})
	if err == nil {
		err = w.Write(&columnar.Batch{Rows: c.Rows, Columns: []columnar.Column{c}})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), r
}

// floats returns a column of numbers of 64 bits.
func floats(numbers ...float64) columnar.Column {
	c := columnar.Column{Rows: len(numbers)}
	for _, x := range numbers {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, math.Float64bits(x))
	}
	return c
}

// textColumn returns a column of texts.
func textColumn(all ...string) columnar.Column {
	c := columnar.Column{Rows: len(all), Offsets: []int64{0}}
	for _, x := range all {
		c.Data = append(c.Data, x...)
		c.Offsets = append(c.Offsets, int64(len(c.Data)))
	}
	return c
}

// TestStatistics compares the statistics of columns with what the specification says.
func TestStatistics(t *testing.T) {
	long := func(x float64) string {
		return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
	nulls := floats(1, 7, 3)
	nulls.Valid = []byte{0b101}
	double, text := columnar.Type{Kind: columnar.Float64}, columnar.Type{Kind: columnar.String}
	end := strings.Repeat("é", 31) + "a" // of 63 bytes
	for name, c := range map[string]struct {
		typ              columnar.Type
		column           columnar.Column
		min, max         string
		nulls, nans      int64
		least, most      flag
		without, noIndex bool
	}{
		"numbers":     {typ: double, column: floats(3, -1, 2), min: long(-1), max: long(3), least: yes, most: yes},
		"NaN":         {typ: double, column: floats(math.NaN(), 5, math.NaN()), min: long(5), max: long(5), nans: 2, least: yes, most: yes},
		"only NaN":    {typ: double, column: floats(math.NaN()), nans: 1, without: true, noIndex: true},
		"zeros":       {typ: double, column: floats(0, math.Copysign(0, -1)), min: long(math.Copysign(0, -1)), max: long(0), least: yes, most: yes},
		"one zero":    {typ: double, column: floats(0), min: long(math.Copysign(0, -1)), max: long(0), least: yes, most: yes},
		"infinities":  {typ: double, column: floats(math.Inf(1), math.Inf(-1)), min: long(math.Inf(-1)), max: long(math.Inf(1)), least: yes, most: yes},
		"nulls":       {typ: double, column: nulls, min: long(1), max: long(3), nulls: 1, least: yes, most: yes},
		"only nulls":  {typ: double, column: columnar.Column{Rows: 3, Valid: []byte{0}, Data: make([]byte, 24)}, nulls: 3, without: true},
		"no sign":     {typ: columnar.Type{Kind: columnar.Uint32}, column: columnar.Column{Rows: 2, Data: []byte{255, 255, 255, 255, 1, 0, 0, 0}}, min: "\x01\x00\x00\x00", max: "\xff\xff\xff\xff", least: yes, most: yes},
		"a sign":      {typ: columnar.Type{Kind: columnar.Int8}, column: columnar.Column{Rows: 2, Data: []byte{255, 1}}, min: "\xff\xff\xff\xff", max: "\x01\x00\x00\x00", least: yes, most: yes},
		"halves":      {typ: columnar.Type{Kind: columnar.Float16}, column: columnar.Column{Rows: 3, Data: []byte{0, 0xbc, 0, 0x40, 1, 0x7c}}, min: "\x00\xbc", max: "\x00\x40", nans: 1, least: yes, most: yes},
		"decimals":    {typ: columnar.Type{Kind: columnar.Decimal, Precision: 2}, column: columnar.Column{Rows: 2, Data: append(bytes.Repeat([]byte{255}, 16), append([]byte{5}, make([]byte, 15)...)...)}, min: "\xff", max: "\x05", least: yes, most: yes},
		"texts":       {typ: text, column: textColumn("b", "", "abc"), min: "", max: "b", least: yes, most: yes},
		"empty texts": {typ: text, column: textColumn("", ""), min: "", max: "", least: yes, most: yes},
		"long texts":  {typ: text, column: textColumn(end+"éz", end+"é"), min: end, max: end[:62] + "b", least: no, most: no},
		"last texts":  {typ: text, column: textColumn("a", strings.Repeat("\U0010ffff", 20)), min: "a", least: yes, noIndex: true},
		"wide":        {typ: columnar.Type{Kind: columnar.FixedBinary, Width: 65}, column: columnar.Column{Rows: 1, Data: make([]byte, 65)}, without: true, noIndex: true},
	} {
		_, r := written(t, columnar.Field{Name: "x", Type: c.typ, Nullable: true}, c.column)
		k := &r.meta.groups[0].columns[0]
		s := k.columnMetadata.statistics
		if string(s.min) != c.min || string(s.max) != c.max || s.nulls != c.nulls || s.nans != c.nans || s.exact != c.least || s.maxExact != c.most {
			t.Errorf("%s: %+v", name, s)
		}
		if c.without != (s.min == nil) || c.noIndex != (k.columnIndex == 0) || k.offsetIndex == 0 {
			t.Errorf("%s: %+v, indexes at %d and %d", name, s, k.columnIndex, k.offsetIndex)
		}
	}
}

// TestHalves makes every number of 16 bits one of 64, and back.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		x := halfFloat(uint16(h))
		if math.IsNaN(x) != (h&0x7fff > 0x7c00) {
			t.Fatalf("%04x is %v", h, x)
		}
		if got := binary.LittleEndian.Uint16(appendFloat(nil, x, 2)); !math.IsNaN(x) && int(got) != h {
			t.Fatalf("%04x is %v, which is %04x", h, x, got)
		}
	}
}

// TestSuccessor compares texts with those that bound all that begin like them.
func TestSuccessor(t *testing.T) {
	for _, c := range []struct {
		b, want string
		text    bool
	}{
		{"ab", "ac", true}, {"a\x7f", "a\u0080", true}, {"a\u07ff", "a\u0800", true}, {"\ud7ff", "\ue000", true}, {"a\U0010ffff", "b", true},
		{"\U0010ffff", "", true}, {"a\xff", "b", false}, {"\xff\xff", "", false}, {"\x00", "\x01", false},
	} {
		if got := string(successor([]byte(c.b), c.text)); got != c.want || got != "" && got <= c.b+"\xf4" && c.text {
			t.Errorf("%q comes after %q, want %q", got, c.b, c.want)
		}
	}
}

// TestHybrid writes numbers of all widths, and reads them in parts of any length.
func TestHybrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 32).Draw(t, "width")
		most := uint32(1<<width - 1)
		var numbers []uint32
		for range rapid.IntRange(0, 10).Draw(t, "parts") {
			x := rapid.Uint32Range(0, most).Draw(t, "number")
			for range rapid.IntRange(0, 30).Draw(t, "times") {
				numbers = append(numbers, x)
			}
			numbers = append(numbers, rapid.SliceOfN(rapid.Uint32Range(0, most), 0, 20).Draw(t, "numbers")...)
		}
		h, err := newHybrid(appendHybrid(nil, numbers, width), width)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint32, len(numbers))
		for rest := got; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "read")
			if err := h.read(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if !slices.Equal(got, numbers) {
			t.Fatalf("%v, want %v", got, numbers)
		}
	})
}

// TestGroups checks that a group of numbers has all of its bits.
func TestGroups(t *testing.T) {
	if got := appendHybrid(nil, []uint32{1, 2}, 3); !bytes.Equal(got, []byte{1<<1 | 1, 1 | 2<<3, 0, 0}) {
		t.Errorf("%v", got)
	}
}

// TestPages writes a column of many pages, and compares the page index with them.
func TestPages(t *testing.T) {
	const rows = 400_000
	c := columnar.Column{Rows: rows, Valid: bytes.Repeat([]byte{0xff}, rows/8)}
	for i := range rows {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(i)*3)
	}
	clear(c.Valid[20_000:38_000]) // so that one page has only nulls
	file, r := written(t, columnar.Field{Name: "x", Type: columnar.Type{Kind: columnar.Int64}, Nullable: true}, c)
	k := &r.meta.groups[0].columns[0]
	var places offsetIndex
	if _, err := unmarshal(file[k.offsetIndex:k.offsetIndex+k.offsetLength], &places, nil); err != nil {
		t.Fatal(err)
	}
	at, row, values, nulls := k.columnMetadata.dataOffset, int64(0), 0, int64(0)
	for i, p := range places.pages {
		var h pageHeader
		n, err := unmarshal(file[p.offset:], &h, nil)
		if err != nil || p.offset != at || p.row != row || p.bytes != int64(n)+h.compressed || h.uncompressed > 3*pageBytes/2 {
			t.Errorf("page %d: %+v of %+v (%v)", i, p, h, err)
		}
		at, row, values = at+p.bytes, row+h.values, values+1
	}
	nulls = k.columnMetadata.statistics.nulls
	if row != rows || values < 3 || nulls != 8*18_000 || at != k.columnMetadata.dataOffset+k.columnMetadata.compressed {
		t.Errorf("rows: %d, pages: %d, nulls: %d, end at %d", row, values, nulls, at)
	}
	got, err := r.Next()
	if err != nil || !bytes.Equal(got.Columns[0].Data[:160_000*8], c.Data[:160_000*8]) || !bytes.Equal(got.Columns[0].Data[304_000*8:], c.Data[304_000*8:]) {
		t.Errorf("other elements (%v)", err)
	}
}

// TestDictionaries has columns for which a dictionary is worth it, and others.
func TestDictionaries(t *testing.T) {
	var few, many, late []float64
	for i := range 40_000 {
		few, many, late = append(few, float64(i%100)), append(many, float64(i)*1.1), append(late, float64(max(0, i-20_000)))
	}
	for name, c := range map[string]struct {
		column columnar.Column
		want   bool
	}{"few": {floats(few...), true}, "many": {floats(many...), false}, "late": {floats(late...), false}, "one": {floats(1), false}} {
		_, r := written(t, columnar.Field{Name: "x", Type: columnar.Type{Kind: columnar.Float64}}, c.column)
		if found := r.meta.groups[0].columns[0].columnMetadata.dictionaryOffset > 0; found != c.want {
			t.Errorf("%s: a dictionary is there: %v", name, found)
		}
		if got, err := r.Next(); err != nil || !bytes.Equal(got.Columns[0].Data, c.column.Data) {
			t.Errorf("%s: other elements (%v)", name, err)
		}
	}
	// The dictionary of a column remains, also if it is not smaller.
	values := textColumn("a", "b")
	_, r := written(t, columnar.Field{Name: "x", Type: columnar.Type{Kind: columnar.String}}, columnar.Column{Rows: 2, Dictionary: &values, Index: []uint32{1, 0}})
	got, err := r.Next()
	if err != nil || got.Columns[0].Dictionary == nil || !bytes.Equal(got.Columns[0].Dictionary.Data, []byte("ab")) || !slices.Equal(got.Columns[0].Index, []uint32{1, 0}) {
		t.Errorf("%+v (%v)", got, err)
	}
}

// TestSeconds writes times in seconds, which Parquet lacks.
func TestSeconds(t *testing.T) {
	long := func(x int64) columnar.Column {
		return columnar.Column{Rows: 1, Data: binary.LittleEndian.AppendUint64(nil, uint64(x))}
	}
	for _, k := range []columnar.Kind{columnar.Timestamp, columnar.Time} {
		f := columnar.Field{Name: "x", Type: columnar.Type{Kind: k}}
		_, r := written(t, f, long(-1234))
		got, err := r.Next()
		if err != nil || r.Schema().Fields[0].Type.Unit != columnar.Millisecond || int64(binary.LittleEndian.Uint64(got.Columns[0].Data)) != -1234_000 {
			t.Errorf("%v: %v (%v)", k, got, err)
		}
		for _, x := range []int64{math.MaxInt64/1000 + 1, math.MinInt64/1000 - 1} {
			c := long(x)
			w, err := NewWriter(io.Discard, &columnar.Schema{Fields: []columnar.Field{f}}, Options{})
			if err == nil {
				err = w.Write(&columnar.Batch{Rows: 1, Columns: []columnar.Column{c}})
			}
			if !errors.Is(err, columnar.ErrUnsupported) || w.Close() == nil {
				t.Errorf("%v: %d seconds: %v", k, x, err)
			}
		}
	}
}

// TestListForms has the forms of lists in the specification, and what is refused.
func TestListForms(t *testing.T) {
	group := func(name string, repetition, converted int64, children int64) schemaElement {
		return schemaElement{physical: -1, converted: converted, name: name, repetition: repetition, children: children}
	}
	column := func(name string, repetition int64) schemaElement {
		return schemaElement{physical: physicalInt32, converted: -1, name: name, repetition: repetition}
	}
	for _, c := range []struct {
		schema []schemaElement
		want   string
	}{
		{[]schemaElement{group("l", optional, convertedList, 1), group("list", repeated, -1, 1), column("element", optional)}, "l list<int32> true true"},
		{[]schemaElement{group("l", required, convertedList, 1), group("element", repeated, -1, 1), column("str", required)}, "l list<int32> false false"},
		{[]schemaElement{group("l", optional, convertedList, 1), column("element", repeated)}, "l list<int32> true false"},
		{[]schemaElement{column("l", repeated)}, "l list<int32> false false"},
		{[]schemaElement{group("s", optional, -1, 1), column("l", repeated)}, "s.l list<int32> true false"},
		{[]schemaElement{group("s", optional, -1, 1), column("a", required)}, "s.a int32 true"},
		{[]schemaElement{group("l", optional, convertedList, 1), group("array", repeated, -1, 1), column("x", required)}, "lists of lists or of groups"},
		{[]schemaElement{group("l", optional, convertedList, 1), group("l_tuple", repeated, -1, 1), column("x", required)}, "lists of lists or of groups"},
		{[]schemaElement{group("l", optional, convertedList, 1), group("element", repeated, -1, 2), column("x", required), column("y", required)}, "lists of lists or of groups"},
		{[]schemaElement{group("g", repeated, -1, 1), column("x", required)}, "lists of lists or of groups"},
		{[]schemaElement{group("m", optional, convertedMap, 1), group("key_value", repeated, -1, 2), column("key", required), column("value", optional)}, "a map"},
		{[]schemaElement{group("l", optional, convertedList, 1), group("list", optional, -1, 1), column("element", optional)}, "no repeated field"},
	} {
		all, err := leaves(append([]schemaElement{group("", required, -1, 1)}, c.schema...), newBudget(1<<20, ""))
		if err == nil {
			err = all[0].err
		}
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			continue
		}
		f := all[0].field
		got := fmt.Sprint(f.Name, " ", f.Type, " ", f.Nullable)
		if f.Type.Element != nil {
			got += fmt.Sprint(" ", f.Type.Element.Nullable)
		}
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestBadColumns writes batches that are not of their schema.
func TestBadColumns(t *testing.T) {
	double, text := columnar.Type{Kind: columnar.Float64}, columnar.Type{Kind: columnar.String}
	list := columnar.Type{Kind: columnar.List, Element: &columnar.Field{Type: double}}
	values, one := floats(1, 2), textColumn("a")
	nulls := floats(1, 2)
	nulls.Valid = []byte{1}
	for name, c := range map[string]struct {
		typ    columnar.Type
		column columnar.Column
	}{
		"other rows":        {double, floats(1)},
		"a short bitmap":    {double, columnar.Column{Rows: 2, Valid: []byte{}, Data: values.Data}},
		"nulls":             {double, nulls},
		"few bytes":         {double, columnar.Column{Rows: 2, Data: values.Data[:15]}},
		"no offsets":        {text, columnar.Column{Rows: 2}},
		"offsets back":      {text, columnar.Column{Rows: 2, Data: []byte("ab"), Offsets: []int64{0, 2, 1}}},
		"offsets beyond":    {text, columnar.Column{Rows: 2, Data: []byte("ab"), Offsets: []int64{0, 1, 3}}},
		"negative offsets":  {text, columnar.Column{Rows: 2, Data: []byte("ab"), Offsets: []int64{-1, 1, 2}}},
		"not UTF-8":         {text, textColumn("a", "\xff")},
		"half of a letter":  {text, textColumn("\xc3", "\xa9")},
		"few numbers":       {text, columnar.Column{Rows: 2, Dictionary: &one, Index: []uint32{0}}},
		"a number too many": {text, columnar.Column{Rows: 2, Dictionary: &one, Index: []uint32{0, 1}}},
		"no elements":       {list, columnar.Column{Rows: 2, Offsets: []int64{0, 1, 2}}},
		"elements too few":  {list, columnar.Column{Rows: 2, Offsets: []int64{0, 1, 3}, Elements: &values}},
		"nulls in lists":    {list, columnar.Column{Rows: 2, Offsets: []int64{0, 1, 2}, Elements: &nulls}},
		"digits":            {columnar.Type{Kind: columnar.Decimal, Precision: 2}, columnar.Column{Rows: 2, Data: bytes.Repeat([]byte{200, 0, 0, 0, 0, 0, 0, 0}, 4)}},
	} {
		w, err := NewWriter(io.Discard, &columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: c.typ}}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(&columnar.Batch{Rows: 2, Columns: []columnar.Column{c.column}})
		if err == nil || !strings.Contains(err.Error(), `row group 0, column "x"`) {
			t.Errorf("%s: %v", name, err)
		}
		// No more is written, and above all no footer.
		if again := w.Write(&columnar.Batch{}); again != err || w.Close() != err {
			t.Errorf("%s: %v after %v", name, again, err)
		}
	}
	for _, typ := range []columnar.Type{{}, {Kind: columnar.FixedBinary}, {Kind: columnar.List}, {Kind: columnar.List, Element: &columnar.Field{Type: list}}, {Kind: columnar.Decimal, Precision: 39}} {
		if _, err := NewWriter(io.Discard, &columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: typ}}}, Options{}); !errors.Is(err, columnar.ErrUnsupported) {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

// full is a file on a disk with little room.
type full int

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// TestFullDisk writes to disks with any room.
func TestFullDisk(t *testing.T) {
	c := textColumn("a", "b")
	f := columnar.Field{Name: "x", Type: columnar.Type{Kind: columnar.String}}
	file, _ := written(t, f, c)
	for n := range file {
		room := full(n)
		w, err := NewWriter(&room, &columnar.Schema{Fields: []columnar.Field{f}}, Options{})
		if err == nil {
			if err = w.Write(&columnar.Batch{Rows: 2, Columns: []columnar.Column{c}}); err == nil {
				err = w.Close()
			}
		}
		if !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}

// TestOldTimes reads timestamps of 96 bits.
func TestOldTimes(t *testing.T) {
	src := func(day uint32, nanos uint64) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, nanos), day)
	}
	dst := make([]byte, 8)
	if err := convertInt96(dst, src(2440588+1, 5)); err != nil || binary.LittleEndian.Uint64(dst) != 86400e9+5 {
		t.Errorf("%v (%v)", dst, err)
	}
	for _, b := range [][]byte{src(0, 0), src(math.MaxUint32, 0), src(2440588+106751, 0), src(2440588, math.MaxUint64)} {
		if err := convertInt96(dst, b); !errors.Is(err, columnar.ErrUnsupported) {
			t.Errorf("%v: %v", b, err)
		}
	}
}

// TestNarrow reads integers of 8 and 16 bits, which are stored in 32.
func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		bytes       int
		signed      bool
		least, most int32
	}{{1, true, -128, 127}, {1, false, 0, 255}, {2, true, -32768, 32767}, {2, false, 0, 65535}} {
		var l leaf
		l.setNarrow(c.bytes, c.signed)
		for _, x := range []int32{c.least - 1, c.least, c.most, c.most + 1} {
			dst := make([]byte, c.bytes)
			err := l.convert(dst, binary.LittleEndian.AppendUint32(nil, uint32(x)))
			if inside := x >= c.least && x <= c.most; inside != (err == nil) || inside && dst[0] != byte(x) || err != nil && !errors.Is(err, columnar.ErrCorrupt) {
				t.Errorf("%d is %v in %v (%v)", x, dst, l.element, err)
			}
		}
	}
}
