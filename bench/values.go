// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"math"
)

// values fills dst with the elements of the box from begin to end, in C order and little
// endian.
type values func(begin, end []int64, dst []byte)

// rows calls f for every row of a box along its last axis, with the index of its first
// element and its position in dst.
func rows(begin, end []int64, size int64, dst []byte, f func(at []int64, row []byte)) {
	last := len(begin) - 1
	n := size * (end[last] - begin[last])
	at := append([]int64(nil), begin...)
	for ; int64(len(dst)) >= n && n > 0; dst = dst[n:] {
		f(at, dst[:n])
		for k := last - 1; k >= 0; k-- {
			if at[k]++; at[k] < end[k] {
				break
			}
			at[k] = begin[k]
		}
	}
}

// base is the part of a value that is constant along a row. The values of zarr_benchmarks
// are g2 + g1²/32 + g0³.
func base(at []int64) int64 {
	var b int64
	if n := len(at); n > 1 {
		b = at[n-2] * at[n-2] / 32
		if n > 2 {
			b += at[n-3] * at[n-3] * at[n-3]
		}
	}
	return b + at[len(at)-1]
}

func uint16s(begin, end []int64, dst []byte) {
	rows(begin, end, 2, dst, func(at []int64, row []byte) {
		v := uint16(base(at))
		for i := 0; i < len(row); i += 2 {
			binary.LittleEndian.PutUint16(row[i:], v)
			v++
		}
	})
}

func uint8s(begin, end []int64, dst []byte) {
	rows(begin, end, 1, dst, func(at []int64, row []byte) {
		v := uint8(base(at))
		for i := range row {
			row[i] = v
			v++
		}
	})
}

// float32s are a smooth field with some noise, in hundredths, like temperatures.
func float32s(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		z, y, x := at[0], at[1], at[2]
		level := 280 + 15*math.Sin(float64(z)/40)*math.Cos(float64(y)/55)
		for i := 0; i < len(row); i += 4 {
			noise := noise(uint64(z)<<40|uint64(y)<<20|uint64(x)) * 0.1
			v := math.Round((level+wave[x&1023]+noise)*100) / 100
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(float32(v)))
			x++
		}
	})
}

// wave is the field along its last axis.
var wave = func() (w [1024]float64) {
	for i := range w {
		w[i] = 3 * math.Sin(float64(i)/7)
	}
	return w
}()

// noise returns a number from -0.5 to 0.5 that depends on n (splitmix64).
func noise(n uint64) float64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return float64((n^n>>31)>>11)/(1<<53) - 0.5
}

// days are planes of float32 that contain their own number.
func days(begin, end []int64, dst []byte) { since(0)(begin, end, dst) }

// since returns days whose planes before first are zero.
func since(first int64) values {
	return func(begin, end []int64, dst []byte) {
		rows(begin, end, 4, dst, func(at []int64, row []byte) {
			bits := uint32(0)
			if at[0] >= first {
				bits = math.Float32bits(float32(at[0]))
			}
			for i := 0; i < len(row); i += 4 {
				binary.LittleEndian.PutUint32(row[i:], bits)
			}
		})
	}
}

// sevens fills dst with the fill value of arrays that are only opened.
func sevens(_, _ []int64, dst []byte) {
	for i := range dst {
		dst[i] = 7
	}
}

// fields is a smooth field with some noise like that of float32s, of any rank. A block of
// noise repeats, so that making the elements does not take longer than the work.
func fields(begin, end []int64, dst []byte) {
	rows(begin, end, 4, dst, func(at []int64, row []byte) {
		var z, y int64
		if n := len(at); n > 1 {
			y = at[n-2]
			if n > 2 {
				z = at[n-3]
			}
		}
		x := at[len(at)-1]
		level, start := waves[(z*13+y*7)&1023], z*8191+y*127
		for i := 0; i < len(row); i += 4 {
			v := float32(int32((280+level+waves[x&1023])*100)+noises[(start+x)&(1<<16-1)]) / 100
			binary.LittleEndian.PutUint32(row[i:], math.Float32bits(v))
			x++
		}
	})
}

var waves = func() (w [1024]float32) {
	for i := range w {
		w[i] = float32(wave[i])
	}
	return w
}()

var noises = func() (all [1 << 16]int32) {
	for i := range all {
		all[i] = int32(10 * noise(uint64(i)))
	}
	return all
}()
