// SPDX-License-Identifier: Apache-2.0

package dtype_test

import (
	"fmt"

	"varve.dev/zarr/dtype"
)

func ExampleParse() {
	t, err := dtype.Parse("complex64", nil)
	fmt.Println(t, t.Kind(), t.Size(), t.Unit(), err)

	_, err = dtype.Parse("r12", nil)
	fmt.Println(err)
	// Output:
	// complex64 complex 8 4 <nil>
	// invalid data type or fill value: data type "r12": raw types have a positive multiple of 8 bits, as "r16"
}

func ExampleOf() {
	fmt.Println(dtype.Int16, dtype.Of[dtype.Float16](), dtype.Int16 == dtype.Uint16)
	// Output: int16 float16 false
}

func ExampleType_AppendText() {
	t, _ := dtype.Parse("r24", nil)
	elem, _ := t.ParseFill([]byte("[0, 10, 255]"))
	row := t.AppendText(nil, elem)
	row = dtype.Bool.AppendText(append(row, ','), []byte{1})
	fmt.Println(string(row))
	// Output: 0x000aff,true
}

func ExampleType_ParseFill() {
	t := dtype.Float32
	for _, json := range []string{`0.1`, `-0`, `"NaN"`, `"0x7fc00001"`} {
		elem, _ := t.ParseFill([]byte(json))
		canonical, _ := t.FormatFill(elem)
		fmt.Println(string(canonical))
	}
	_, err := dtype.Int8.ParseFill([]byte("128"))
	fmt.Println(err)
	// Output:
	// 0.1
	// -0.0
	// "NaN"
	// "0x7fc00001"
	// invalid data type or fill value: fill value "128" of int8: expected an integer from -128 to 127
}

func ExampleType_ParseText() {
	for _, t := range dtype.All()[11:14] {
		elem, err := t.ParseText("1e+2-3j")
		if err != nil {
			elem, _ = t.ParseText("-inf")
		}
		fmt.Printf("%s\t%s\n", t.AppendText(nil, elem), t.AppendJSON(nil, elem))
	}
	// Output:
	// -inf	"-Infinity"
	// 100.0-3.0j	[100.0,-3.0]
	// 100.0-3.0j	[100.0,-3.0]
}

func ExampleType_NumPy() {
	descr, _ := dtype.Of[dtype.Float16]().NumPy()
	t, bigEndian, _ := dtype.FromNumPy(">i4")
	fmt.Println(descr, t, bigEndian)
	// Output: <f2 int32 true
}

func ExampleFromFloat32() {
	third := dtype.FromFloat32(1. / 3)
	fmt.Println(third, third.Float32())
	// Output: 0.3333 0.33325195
}

func ExampleStructOf() {
	seen, _ := dtype.DatetimeOf("s", 1)
	name, _ := dtype.FixedUTF32(4)
	t, err := dtype.StructOf(dtype.Field{Name: "name", Type: name}, dtype.Field{Name: "seen", Type: seen}, dtype.Field{Name: "value", Type: dtype.Float32})
	fmt.Println(t, t.Size(), err)
	for _, f := range t.Fields() {
		fmt.Println(f.Name, f.Offset)
	}
	elem, err := t.ParseFill([]byte(`{"name": "ä", "seen": "NaT", "value": 1.5}`))
	fmt.Printf("%s %v\n", t.AppendText(nil, elem), err)
	// Output:
	// struct{name: fixed_length_utf32[16], seen: numpy.datetime64[s], value: float32} 28 <nil>
	// name 0
	// seen 16
	// value 24
	// (ä, NaT, 1.5) <nil>
}

func ExampleType_Moment() {
	t, _ := dtype.DatetimeOf("D", 7)
	at, ok := t.Moment(-1)
	n, fits := t.NumberOf(at)
	fmt.Println(at.Format("2006-01-02"), ok, n, fits)
	// Output: 1969-12-25 true -1 true
}

func ExampleType_SetFloat32s() {
	t, _ := dtype.Parse("float4_e2m1fn", nil)
	numbers := []float32{0.3, 1, -6, 7}
	codes := make([]byte, len(numbers))
	n := t.SetFloat32s(codes, numbers) // 7 is beyond the largest, 6
	back := make([]float32, n)
	t.Float32s(back, codes)
	fmt.Println(n, codes[:n], back)
	// Output: 3 [1 2 15] [0.5 1 -6]
}
