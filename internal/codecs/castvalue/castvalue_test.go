// SPDX-License-Identifier: Apache-2.0

package castvalue

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/racing"
)

func parse(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// reals returns the data types that can be cast.
func reals() []dtype.Type {
	var list []dtype.Type
	for _, t := range dtype.All() {
		if _, ok := number.Of(t); ok {
			list = append(list, t)
		}
	}
	return list
}

// bound returns the codec for arrays of source. The fill value is one that all data types
// have.
func bound(t testing.TB, source dtype.Type, configuration string) (*coder, codec.Spec) {
	t.Helper()
	c, err := New([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.(*coder).Bind(codec.Spec{Type: source, Fill: element(t, source, "1"), Rank: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*coder), out
}

func element(t testing.TB, typ dtype.Type, json string) []byte {
	t.Helper()
	e, err := typ.ParseFill([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run encodes one element.
func run(c *coder, elem []byte) ([]byte, error) {
	dst := codec.Block{Shape: []int64{1}, Data: make([]byte, c.encode.To.Bytes)}
	err := c.Encode(&dst, codec.Block{Shape: []int64{1}, Data: elem})
	return dst.Data, err
}

func word(e []byte) uint64 {
	switch len(e) {
	case 1:
		return uint64(e[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(e))
	case 4:
		return uint64(binary.NativeEndian.Uint32(e))
	}
	return binary.NativeEndian.Uint64(e)
}

func fromWord(size int, x uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, x)[:size]
	if !byteorder.Little() {
		byteorder.Bytes(b, b, size)
	}
	return b
}

// TestGolden compares with the backend of zarr-python.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/casts.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var source, target, rounding, beyond, result string
		var x, want uint64
		if _, err := fmt.Sscanf(line, "%s %s %s %s %x %s", &source, &target, &rounding, &beyond, &x, &result); err != nil {
			t.Fatal(err)
		}
		o := &codec.CastOptions{Rounding: rounding, OutOfRange: strings.Trim(beyond, "-")}
		c, _ := bound(t, parse(t, source), string(codec.CastValue(parse(t, target), o).Configuration))
		got, err := run(c, fromWord(c.encode.From.Bytes, x))
		if (err == nil) != (result != "-") {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if _, scanned := fmt.Sscanf(result, "%x", &want); err == nil && scanned == nil && word(got) != want && !isNaN(c, got) {
			t.Errorf("%s: got %x", line, word(got))
		}
	}
}

func isNaN(c *coder, e []byte) bool {
	b := number.NewBlock()
	defer b.Free()
	c.encode.To.Load(b, e)
	return c.encode.To.Carrier == number.Float && math.IsNaN(b.F[0])
}

func TestContract(t *testing.T) {
	for _, typ := range reals() {
		spec := codec.Spec{Type: typ, Fill: element(t, typ, "1"), Rank: 2}
		codectest.Run(t, func() any {
			c, err := New(codec.CastValue(typ, nil).Configuration)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, &codectest.Options{Specs: []codec.Spec{spec}, Lossy: typ.Kind() == dtype.KindFloat || typ.Size() == 1})
	}
	for source, target := range map[string]string{"int8": "int64", "uint32": "float64", "int16": "float32", "uint8": "float16", "int32": "int64"} {
		spec := codec.Spec{Type: parse(t, source), Fill: element(t, parse(t, source), "1"), Rank: 3}
		codectest.Run(t, func() any {
			c, _ := New(codec.CastValue(parse(t, target), nil).Configuration)
			return c
		}, &codectest.Options{Specs: []codec.Spec{spec}})
	}
}

// TestPage has the examples of the specification page.
func TestPage(t *testing.T) {
	numpy := `{"data_type":"uint8","rounding":"towards-zero","out_of_range":"wrap","scalar_map":{"encode":[["NaN",0],["+Infinity",0],["-Infinity",0]]}}`
	reserved := `{"data_type":"uint8","rounding":"nearest-even","scalar_map":{"encode":[["NaN",0]],"decode":[[0,"NaN"]]}}`
	for _, tt := range []struct{ source, configuration, value, want string }{
		{"float64", `{"data_type":"int8"}`, "128.0", ""},
		{"float64", `{"data_type":"int8","out_of_range":"clamp"}`, "128.0", "127"},
		{"float64", `{"data_type":"int8","out_of_range":"wrap"}`, "128.0", "-128"},
		{"int32", `{"data_type":"int16","out_of_range":"wrap"}`, "32768", "-32768"},
		{"int32", `{"data_type":"int16","out_of_range":"wrap"}`, "32769", "-32767"},
		{"int32", `{"data_type":"int16","out_of_range":"wrap"}`, "-32769", "32767"},
		{"uint16", `{"data_type":"uint8"}`, "0", "0"},
		{"float64", numpy, `"NaN"`, "0"},
		{"float64", numpy, `"Infinity"`, "0"},
		{"float64", numpy, `"-Infinity"`, "0"},
		{"float64", numpy, `-1.9`, "255"},
		{"float64", numpy, `1e20`, "0"},
		{"float64", numpy, `300.9`, "44"},
		{"float64", reserved, `"NaN"`, "0"},
		{"float64", reserved, `0.9`, "1"},
		{"float64", reserved, `255.5`, ""},
		{"float64", reserved, `255.4`, "255"},
	} {
		c, out := bound(t, parse(t, tt.source), tt.configuration)
		got, err := run(c, element(t, parse(t, tt.source), tt.value))
		if tt.want == "" {
			if !errors.Is(err, dtype.ErrInvalid) {
				t.Errorf("%s of %s: %x, %v, want an error", tt.configuration, tt.value, got, err)
			}
			continue
		}
		if text := string(out.Type.AppendText(nil, got)); err != nil || text != tt.want {
			t.Errorf("%s of %s: %s, %v, want %s", tt.configuration, tt.value, text, err, tt.want)
		}
	}
}

func TestScalarMap(t *testing.T) {
	c, _ := bound(t, dtype.Float64, `{"data_type":"int16","scalar_map":{"encode":[[-0.0,7],[0,8],["0x7ff8000000000001",9],["NaN",10],[1e9,11],[2.5,12]]}}`)
	for value, want := range map[string]int16{`0`: 7, `-0.0`: 7, `"NaN"`: 9, `1e9`: 11, `2.5`: 12, `2.25`: 2, `1`: 1} {
		got, err := run(c, element(t, dtype.Float64, value))
		if err != nil || int16(word(got)) != want {
			t.Errorf("%s: %d, %v, want %d", value, int16(word(got)), err, want)
		}
	}
}

// TestScalarMapWays compares the list of a few values with the map of many.
func TestScalarMapWays(t *testing.T) {
	var pairs []codec.CastPair
	for i := range 200 {
		pairs = append(pairs, codec.CastPair{json.RawMessage(fmt.Sprint(i)), json.RawMessage(fmt.Sprint(1000 - i))})
	}
	many, _ := bound(t, dtype.Uint8, string(codec.CastValue(dtype.Int16, &codec.CastOptions{
		Encode: pairs, Decode: []codec.CastPair{{json.RawMessage("999"), json.RawMessage("1")}},
	}).Configuration))
	src := make([]byte, 3*number.Size+5)
	for i := range src {
		src[i] = byte(i * 7)
	}
	dst := make([]byte, 2*len(src))
	if f := many.encode.run(dst, src); f != nil {
		t.Fatal(f.reason(&many.encode))
	}
	for i, x := range src {
		want := int16(x)
		if x < 200 {
			want = 1000 - want
		}
		if got := int16(binary.NativeEndian.Uint16(dst[2*i:])); got != want {
			t.Fatalf("element %d: %d is %d, want %d", i, x, got, want)
		}
	}
}

// TestNamesFirst has an error name the first value that does not fit, and where it is.
func TestNamesFirst(t *testing.T) {
	c, _ := bound(t, dtype.Int32, `{"data_type":"int8"}`)
	src := codec.Block{Shape: []int64{3, 400}, Data: make([]byte, 4*1200)}
	binary.NativeEndian.PutUint32(src.Data[4*950:], 300)
	binary.NativeEndian.PutUint32(src.Data[4*1150:], 400)
	dst := codec.Block{Shape: src.Shape, Data: make([]byte, 1200)}
	err := c.Encode(&dst, src)
	if !errors.Is(err, dtype.ErrInvalid) || !strings.Contains(err.Error(), "element [2 150]: 300 is out of the range of int8; out_of_range may clamp") {
		t.Errorf("error is %v", err)
	}
	c, _ = bound(t, dtype.Int8, `{"data_type":"float32"}`)
	back := codec.Block{Shape: []int64{2}, Data: append(fromWord(4, 0), fromWord(4, uint64(math.Float32bits(float32(math.Inf(-1)))))...)}
	err = c.Decode(&codec.Block{Shape: []int64{2}, Data: make([]byte, 2)}, back)
	if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "element [1]: -inf has no counterpart in int8; map it") {
		t.Errorf("error is %v", err)
	}
}

func TestFill(t *testing.T) {
	for _, tt := range []struct{ source, fill, configuration, want, says string }{
		{"float64", `3`, `{"data_type":"uint8"}`, "3", ""},
		{"float64", `-0.0`, `{"data_type":"uint8"}`, "0", ""},
		{"float64", `"NaN"`, `{"data_type":"uint8","scalar_map":{"encode":[["NaN",9]],"decode":[[9,"NaN"]]}}`, "9", ""},
		{"float64", `"NaN"`, `{"data_type":"uint8","scalar_map":{"encode":[["NaN",9]]}}`, "", "comes back as 9"},
		{"float64", `"NaN"`, `{"data_type":"uint8"}`, "", "nan has no counterpart"},
		{"float64", `0.5`, `{"data_type":"uint8"}`, "", "0.5 comes back as 0.0"},
		{"uint16", `300`, `{"data_type":"uint8"}`, "", "300 is out of the range"},
		{"uint16", `300`, `{"data_type":"uint8","out_of_range":"wrap"}`, "", "300 comes back as 44"},
		{"int8", `5`, `{"data_type":"float32","scalar_map":{"encode":[[5,500]]}}`, "", "on its way back: 500.0 is out of the range of int8"},
		{"float64", `0.1`, `{"data_type":"float32"}`, "", "0.1 comes back as 0.1000"},
		{"float64", `"0x7ff8000000000001"`, `{"data_type":"float32"}`, "nan", ""},
	} {
		c, err := New([]byte(tt.configuration))
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.(*coder).Bind(codec.Spec{Type: parse(t, tt.source), Fill: element(t, parse(t, tt.source), tt.fill)})
		if tt.says != "" {
			if !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, fill %s: error is %v, want %q", tt.configuration, tt.fill, err, tt.says)
			}
			continue
		}
		if err != nil || string(out.Type.AppendText(nil, out.Fill)) != tt.want {
			t.Errorf("%s, fill %s: %s, %v, want %s", tt.configuration, tt.fill, out.Type.AppendText(nil, out.Fill), err, tt.want)
		}
	}
}

func TestConfiguration(t *testing.T) {
	for raw, says := range map[string]string{
		`{"data_type":"uint8"}`:                                         "",
		`{"data_type":{"name":"uint8"}}`:                                "",
		`{"data_type":"uint8","scalar_map":{}}`:                         "",
		`{}`:                                                            "data_type is missing",
		`{"data_type":"nope"}`:                                          "data_type",
		`{"data_type":5}`:                                               "data_type",
		`{"data_type":null}`:                                            "null",
		`{"data_type":"uint8","rounding":"up"}`:                         "towards-positive",
		`{"data_type":"uint8","rounding":1}`:                            "rounding",
		`{"data_type":"uint8","out_of_range":""}`:                       "out_of_range",
		`{"data_type":"uint8","out_of_range":"none"}`:                   "out_of_range",
		`{"data_type":"uint8","extra":1}`:                               `unknown member "extra"`,
		`{"data_type":"uint8","scalar_map":[]}`:                         "scalar_map",
		`{"data_type":"uint8","scalar_map":{"both":[]}}`:                `unknown member "both"`,
		`{"data_type":"uint8","scalar_map":{"encode":{}}}`:              "encode",
		`{"data_type":"uint8","scalar_map":{"encode":[[1]]}}`:           "entry 0 is not a pair",
		`{"data_type":"uint8","scalar_map":{"encode":[[1,2],[1,2,3]]}}`: "entry 1 is not a pair",
		`{"data_type":"uint8","scalar_map":{"decode":["NaN"]}}`:         "entry 0 is not a pair",
		`[]`: "not a JSON object",
	} {
		_, err := New([]byte(raw))
		if (err == nil) != (says == "") || err != nil && (!errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), says)) {
			t.Errorf("New(%s): %v, want %q", raw, err, says)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	for _, tt := range []struct{ source, configuration, says string }{
		{"bool", `{"data_type":"uint8"}`, "bool is neither an integer"},
		{"uint8", `{"data_type":"complex64"}`, "complex64 is neither an integer"},
		{"r16", `{"data_type":"uint8"}`, "r16 is neither an integer"},
		{"uint8", `{"data_type":"float32","out_of_range":"wrap"}`, "needs an integer data_type, not float32"},
		{"uint8", `{"data_type":"int8","scalar_map":{"encode":[[256,1]]}}`, "encode: entry 0: from"},
		{"uint8", `{"data_type":"int8","scalar_map":{"encode":[[1,1],[25,128]]}}`, "encode: entry 1: to"},
		{"uint8", `{"data_type":"int8","scalar_map":{"decode":[["NaN",1]]}}`, "decode: entry 0: from"},
	} {
		c, err := New([]byte(tt.configuration))
		if err != nil {
			t.Fatal(err)
		}
		typ := parse(t, tt.source)
		_, err = c.(*coder).Bind(codec.Spec{Type: typ, Fill: make([]byte, typ.Size())})
		if !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s, %s: %v, want %q", tt.source, tt.configuration, err, tt.says)
		}
	}
}

// slowCast is the definition for integers: exact arithmetic.
func slowCast(x *big.Float, target *number.Format, rounding, beyond string) (*big.Int, bool) {
	n, accuracy := x.Int(nil) // towards zero
	if accuracy != big.Exact {
		rest := new(big.Float).Abs(new(big.Float).Sub(x, new(big.Float).SetPrec(2000).SetInt(n)))
		half := rest.Cmp(big.NewFloat(0.5))
		negative := x.Sign() < 0
		away := rounding == "towards-positive" && !negative || rounding == "towards-negative" && negative ||
			rounding == "nearest-away" && half >= 0 || rounding == "nearest-even" && (half > 0 || half == 0 && n.Bit(0) == 1)
		if away {
			n.Add(n, big.NewInt(int64(x.Sign())))
		}
	}
	low, high := target.Limits()
	least, most := big.NewInt(low), new(big.Int).SetUint64(high)
	switch {
	case n.Cmp(least) >= 0 && n.Cmp(most) <= 0:
		return n, true
	case beyond == "clamp" && n.Sign() < 0:
		return least, true
	case beyond == "clamp":
		return most, true
	case beyond == "wrap":
		size := new(big.Int).Lsh(big.NewInt(1), uint(target.Bits))
		n.Mod(n, size)
		if n.Cmp(most) > 0 {
			n.Sub(n, size)
		}
		return n, true
	}
	return nil, false
}

// TestIntegerTargets compares with the definition, for every pair of types.
func TestIntegerTargets(t *testing.T) {
	all := reals()
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(all).Draw(t, "source")
		target := rapid.SampledFrom(all).Filter(func(t dtype.Type) bool { return t.Kind() != dtype.KindFloat }).Draw(t, "target")
		o := &codec.CastOptions{
			Rounding:   rapid.SampledFrom([]string{"nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"}).Draw(t, "rounding"),
			OutOfRange: rapid.SampledFrom([]string{"", "clamp", "wrap"}).Draw(t, "beyond"),
		}
		c := new(coder)
		if err := c.parse(codec.CastValue(target, o).Configuration); err != nil {
			t.Fatal(err)
		}
		if err := c.encode.bind(source, target, c.mode, c.beyond); err != nil {
			t.Fatal(err)
		}
		elem := drawElement(t, source)
		b := number.NewBlock()
		defer b.Free()
		c.encode.From.Load(b, elem)
		x := new(big.Float).SetPrec(2000)
		switch f := c.encode.From; {
		case f.Carrier == number.Signed:
			x.SetInt64(b.I[0])
		case f.Carrier == number.Unsigned:
			x.SetUint64(b.U[0])
		case !isFinite(b.F[0]):
			return
		default:
			x.SetFloat64(b.F[0])
		}
		dst := make([]byte, c.encode.To.Bytes)
		f := c.encode.run(dst, elem)
		want, ok := slowCast(x, c.encode.To, o.Rounding, o.OutOfRange)
		if ok != (f == nil) {
			t.Fatalf("%v: failure %v, want %v", x, f, want)
		}
		if text := string(target.AppendText(nil, dst)); ok && text != want.String() {
			t.Fatalf("%v: %s, want %v", x, text, want)
		}
	})
}

// drawElement draws an element, often one near a limit.
func drawElement(t *rapid.T, typ dtype.Type) []byte {
	if f, _ := number.Of(typ); f.Carrier == number.Float && rapid.Bool().Draw(t, "near") {
		b := number.NewBlock()
		defer b.Free()
		b.F[0] = math.Ldexp(float64(rapid.Int64Range(-9, 9).Draw(t, "m")), rapid.IntRange(-2, 64).Draw(t, "e")) + rapid.SampledFrom([]float64{0, 0.5, -1, -0.5}).Draw(t, "d")
		e := make([]byte, f.Bytes)
		f.Store(e, b)
		return e
	}
	x := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, math.MaxUint64, 1 << 63, 1<<63 - 1, 127, 128, 255})).Draw(t, "bits")
	return fromWord(typ.Size(), x)
}

// TestFloatTargets compares casts to float32 and float64 with the neighbours of the exact
// value.
func TestFloatTargets(t *testing.T) {
	all := reals()
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(all).Draw(t, "source")
		target := rapid.SampledFrom([]dtype.Type{dtype.Float32, dtype.Float64, dtype.Of[dtype.Float16]()}).Draw(t, "target")
		rounding := rapid.SampledFrom([]string{"nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"}).Draw(t, "rounding")
		var c cast
		if err := c.bind(source, target, modes[rounding], number.Fails); err != nil {
			t.Fatal(err)
		}
		elem := drawElement(t, source)
		b := number.NewBlock()
		defer b.Free()
		c.From.Load(b, elem)
		var want uint64
		var verdict number.Verdict
		switch c.From.Carrier {
		case number.Signed:
			want, verdict = c.To.Layout.RoundMantissa(b.I[0] < 0, abs(b.I[0]), 0, c.Mode)
		case number.Unsigned:
			want, verdict = c.To.Layout.RoundMantissa(false, b.U[0], 0, c.Mode)
		case number.Float:
			want, verdict = c.To.Layout.Round(b.F[0], c.Mode)
		}
		isNaN := c.From.Carrier == number.Float && math.IsNaN(b.F[0])
		dst := make([]byte, c.To.Bytes)
		f := c.run(dst, elem)
		if (f == nil) != (verdict == number.Fits) || f == nil && word(dst) != want && !isNaN {
			t.Fatalf("%s %x to %s, %s: %x, %v, want %x", source, elem, target, rounding, dst, f, want)
		}
	})
}

// TestRoundTrip casts to a wider type and back.
func TestRoundTrip(t *testing.T) {
	wider := map[string]string{"int8": "float16", "uint8": "int16", "int16": "float32", "uint16": "int64", "int32": "float64", "uint32": "uint64", "float16": "float32", "float32": "float64"}
	for source, target := range wider {
		t.Run(source, rapid.MakeCheck(func(t *rapid.T) {
			typ, _ := dtype.Parse(source, nil)
			stored, _ := dtype.Parse(target, nil)
			var there, back cast
			if err := errors.Join(there.bind(typ, stored, 0, number.Fails), back.bind(stored, typ, 0, number.Fails)); err != nil {
				t.Fatal(err)
			}
			src := bytes.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []byte { return drawElement(t, typ) }), 0, 9).Draw(t, "elements"), nil)
			mid, dst := make([]byte, len(src)/typ.Size()*stored.Size()), make([]byte, len(src))
			if f := there.run(mid, src); f != nil {
				t.Fatal(f.reason(&there))
			}
			if f := back.run(dst, mid); f != nil {
				t.Fatal(f.reason(&back))
			}
			for i := 0; i < len(src); i += typ.Size() {
				if !equal(there.From, src[i:i+typ.Size()], dst[i:i+typ.Size()]) {
					t.Fatalf("%x comes back as %x", src, dst)
				}
			}
		}))
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(`{"data_type":"uint8","rounding":"towards-zero","out_of_range":"wrap","scalar_map":{"encode":[["NaN",0]],"decode":[[0,"NaN"]]}}`), []byte("\x00\x01\x02\x03\x04\x05\x06\x07"))
	f.Add([]byte(`{"data_type":{"name":"int64","configuration":{}},"out_of_range":"clamp"}`), []byte{})
	f.Fuzz(func(t *testing.T, configuration, data []byte) {
		c, err := New(configuration)
		if err != nil {
			if !errors.Is(err, codec.ErrConfiguration) {
				t.Errorf("error is %v", err)
			}
			return
		}
		out, err := c.(*coder).Bind(codec.Spec{Type: dtype.Float64, Fill: make([]byte, 8), Rank: 1})
		if err != nil {
			return
		}
		src := codec.Block{Shape: []int64{int64(len(data) / 8)}, Data: data[:len(data)/8*8]}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, len(data)/8*out.Type.Size())}
		if err := c.(*coder).Encode(&dst, src); err != nil && !errors.Is(err, dtype.ErrInvalid) {
			t.Errorf("error is %v", err)
		}
		stored := codec.Block{Shape: []int64{int64(len(data) / out.Type.Size())}, Data: data[:len(data)/out.Type.Size()*out.Type.Size()]}
		again := codec.Block{Shape: stored.Shape, Data: make([]byte, 8*stored.Shape[0])}
		if err := c.(*coder).Decode(&again, stored); err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestAllocations(t *testing.T) {
	racing.Skip(t)
	for _, configuration := range []string{`{"data_type":"int16","scalar_map":{"encode":[["NaN",5]]}}`, `{"data_type":"float16"}`, `{"data_type":"float8_e4m3"}`} {
		c, out := bound(t, dtype.Float64, configuration)
		src := codec.Block{Shape: []int64{5000}, Data: make([]byte, 8*5000)}
		dst := codec.Block{Shape: src.Shape, Data: make([]byte, out.Type.Size()*5000)}
		if n := testing.AllocsPerRun(100, func() { _, _ = c.Encode(&dst, src), c.Decode(&src, dst) }); n > 0 {
			t.Errorf("%s: %v allocations a chunk", configuration, n)
		}
	}
}

func Benchmark(b *testing.B) {
	for _, s := range []struct{ source, configuration string }{
		{"float64", `{"data_type":"float32"}`},
		{"float64", `{"data_type":"int16","out_of_range":"clamp"}`},
		{"float32", `{"data_type":"uint8"}`},
		{"float32", `{"data_type":"float16"}`},
		{"int32", `{"data_type":"int8","out_of_range":"wrap"}`},
		{"float64", `{"data_type":"uint8","scalar_map":{"encode":[["NaN",0]]}}`},
		{"float64", `{"data_type":"int16","rounding":"nearest-away"}`},
	} {
		c, out := bound(b, parse(b, s.source), s.configuration)
		const n = 1 << 18
		src := codec.Block{Shape: []int64{n}, Data: make([]byte, n*c.encode.From.Bytes)}
		for i := range n {
			block := number.NewBlock()
			block.F[0], block.I[0] = float64(i%200)+0.3, int64(i)
			c.encode.From.Store(src.Data[i*c.encode.From.Bytes:][:c.encode.From.Bytes], block)
			block.Free()
		}
		dst := codec.Block{Shape: []int64{n}, Data: make([]byte, n*out.Type.Size())}
		b.Run(s.source+s.configuration+"/encode", func(b *testing.B) {
			b.SetBytes(int64(len(src.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Encode(&dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.source+s.configuration+"/decode", func(b *testing.B) {
			b.SetBytes(int64(len(src.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Decode(&src, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func abs(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func isFinite(x float64) bool { return x-x == 0 }
