// SPDX-License-Identifier: Apache-2.0

package residue

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

var prime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))

func (a Number) big() *big.Int { b := a.Bytes(); return new(big.Int).SetBytes(b[:]) }

// plain is the definition: the words of the string are the coefficients.
func plain(data []byte) *big.Int {
	data = append(slices.Clone(data), make([]byte, 7)...)
	sum, power := new(big.Int), big.NewInt(1)
	for ; len(data) >= 8; data = data[8:] {
		w := new(big.Int).SetUint64(binary.LittleEndian.Uint64(data))
		sum.Add(sum, w.Mul(w, power)).Mod(sum, prime)
		power.Mul(power, base.big()).Mod(power, prime)
	}
	return sum
}

func random(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		// Many bytes are 0 or 255, where carries are lost first.
		data[i] = [3]byte{0, 255, byte(r.Uint32())}[r.IntN(3)]
	}
	return data
}

func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []uint64{0, 1, 2, 1 << 62, 1<<63 - 2, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1}
	number := func() Number {
		n := Number{r.Uint64(), r.Uint64()}
		if r.IntN(2) == 0 {
			n = Number{edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]}
		}
		return reduced(n.hi, n.lo)
	}
	for range 20000 {
		a, b := number(), number()
		for name, pair := range map[string][2]*big.Int{
			"+": {a.Plus(b).big(), new(big.Int).Add(a.big(), b.big())},
			"-": {a.Minus(b).big(), new(big.Int).Sub(a.big(), b.big())},
			"*": {a.Times(b).big(), new(big.Int).Mul(a.big(), b.big())},
		} {
			if want := pair[1].Mod(pair[1], prime); pair[0].Cmp(want) != 0 {
				t.Fatalf("%v %s %v = %v, want %v", a.big(), name, b.big(), pair[0], want)
			}
		}
	}
}

// TestParts cuts strings into parts and adds them in another order.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		data := random(r, r.IntN(3*block*word))
		want := plain(data)
		var parts [][2]int
		for at := 0; at < len(data); {
			n := 1 + r.IntN(min(len(data)-at, 1+r.IntN(1500)))
			parts = append(parts, [2]int{at, n})
			at += n
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var sum Number
		for _, p := range parts {
			sum = sum.Plus(Of(data[p[0]:p[0]+p[1]], int64(p[0])))
		}
		if sum.big().Cmp(want) != 0 {
			t.Fatalf("%d bytes in %d parts: %v, want %v", len(data), len(parts), sum.big(), want)
		}
	}
}

func TestFarOffsets(t *testing.T) {
	for _, offset := range []int64{1 << 20, 1<<40 + 3, 1<<62 + 5} {
		exponent := big.NewInt(offset / 8)
		want := new(big.Int).Exp(base.big(), exponent, prime)
		want.Mul(want, new(big.Int).Lsh(big.NewInt(7), uint(offset%8*8))).Mod(want, prime)
		if got := Of([]byte{7}, offset); got.big().Cmp(want) != 0 {
			t.Errorf("offset %d: %v, want %v", offset, got.big(), want)
		}
	}
}

func TestRepeated(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		unit := random(r, 1+r.IntN(20))
		size := r.IntN(3000)
		data := bytes.Repeat(unit, size/len(unit)+1)[:size]
		if got := Repeated(unit, int64(size)); got != Of(data, 0) {
			t.Fatalf("%d bytes of a unit of %d: %v, want %v", size, len(unit), got, Of(data, 0))
		}
	}
}

// TestAccidents checks that what happens to data by accident changes the sum.
func TestAccidents(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	data := make([]byte, 4096)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	seen := map[Number]string{Of(data, 0): "as it was"}
	try := func(name string, data []byte) {
		if other, ok := seen[Of(data, 0)]; ok {
			t.Errorf("%s has the sum of %s", name, other)
		}
		seen[Of(data, 0)] = name
	}
	for i := range len(data) {
		flipped := slices.Clone(data)
		flipped[i] ^= 1 << (i % 8)
		try("a flipped bit", flipped)
	}
	for i := 0; i+16 <= len(data); i += 8 {
		swapped := slices.Clone(data)
		copy(swapped[i:], data[i+8:i+16])
		copy(swapped[i+8:], data[i:i+8])
		try("swapped words", swapped)
	}
	// Words that are equal modulo smaller primes of this form are not equal here.
	for _, w := range []uint64{0, 1<<61 - 1, 1<<64 - 1, 1<<32 - 1, 7} {
		try("a constant", bytes.Repeat(binary.LittleEndian.AppendUint64(nil, w), 512))
	}
	try("a shift", append(data[1:len(data):len(data)], 0))
}

func BenchmarkOf(b *testing.B) {
	for name, n := range map[string]int{"4": 4, "400": 400, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			data := random(rand.New(rand.NewPCG(1, 1)), n)
			b.SetBytes(int64(n))
			for i := range b.N {
				Of(data, int64(i)<<20)
			}
		})
	}
}
