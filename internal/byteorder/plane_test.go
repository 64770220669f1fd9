// SPDX-License-Identifier: Apache-2.0

package byteorder

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/clock"
	"varve.dev/zarr/internal/racing"
)

func noise(n int) []byte {
	r, b := rand.New(rand.NewPCG(uint64(n), 1)), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// room returns a side with rows of some bytes and gaps between them. If back is set, the
// rows are in reverse order.
func room(rows, bytes, gap, before int, back bool) Side {
	s := Side{Data: noise(before + rows*(bytes+gap) + 7), Offset: before, Stride: bytes + gap}
	if back {
		s.Offset, s.Stride = before+(rows-1)*s.Stride, -s.Stride
	}
	return s
}

// check compares a function with the definition of [Plane], and checks that it does not
// write elsewhere.
func check(t interface{ Fatalf(string, ...any) }, way func(dst, src Side, n, m, size int), dst, src Side, n, m, size int) {
	want := bytes.Clone(dst.Data)
	for i := range n {
		for j := range m {
			from, to := src.Offset+i*src.Stride+j*size, dst.Offset+j*dst.Stride+i*size
			copy(want[to:to+size], src.Data[from:from+size])
		}
	}
	way(dst, src, n, m, size)
	if !bytes.Equal(dst.Data, want) {
		t.Fatalf("%d by %d elements of %d bytes, strides %d to %d, offsets %d to %d: not what element by element gives",
			n, m, size, src.Stride, dst.Stride, src.Offset, dst.Offset)
	}
}

// plain is [Plane] without assembly.
func plain(dst, src Side, n, m, size int) { (&plane{dst, src, n, m, size}).squares() }

func TestPlane(t *testing.T) {
	racing.Skip(t)
	sides := []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129, 300}
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, n := range sides {
			for _, m := range sides {
				check(t, Plane, room(m, n*size, 0, 0, false), room(n, m*size, 0, 0, false), n, m, size)
				check(t, plain, room(m, n*size, 0, 0, false), room(n, m*size, 0, 0, false), n, m, size)
			}
		}
		check(t, Plane, room(1500, 70*size, 0, 0, false), room(70, 1500*size, 0, 0, false), 70, 1500, size)
	}
}

// checkLarge compares Plane with the code without assembly, which other tests compare
// with the definition.
func checkLarge(t *testing.T, dst, src Side, n, m, size int) {
	want := dst
	want.Data = bytes.Clone(dst.Data)
	plain(want, src, n, m, size)
	Plane(dst, src, n, m, size)
	if !bytes.Equal(dst.Data, want.Data) {
		t.Errorf("%d by %d elements of %d bytes, strides %d to %d: not what the plain way gives", n, m, size, src.Stride, dst.Stride)
	}
}

// TestLargePlane turns planes that do not fit the cache, square and narrow, with rows
// that begin at lines of the cache and elsewhere.
func TestLargePlane(t *testing.T) {
	racing.Skip(t)
	const most = 2_300_000
	for _, size := range []int{1, 2, 4, 8, 16} {
		side, narrow := int(math.Sqrt(float64(most/size)))|1, 270/size+1
		for _, gap := range []int{0, 1, 63 - (side*size-1)%64} {
			back := gap == 1
			checkLarge(t, room(side, side*size, gap, gap, back), room(side+8, side*size, gap, 0, back), side, side, size)
		}
		wide := 4096 / size // rows that are a power of two apart
		checkLarge(t, room(wide, 777*size, 0, 0, false), room(777, wide*size, 0, 3, false), 777, wide, size)
		checkLarge(t, room(wide-3, 300*size, 2, 1, false), room(300, (wide-3)*size, 3*size, 0, true), 300, wide-3, size)
		long := most / narrow / size
		checkLarge(t, room(long, narrow*size, 0, 5, false), room(narrow, long*size, 1, 0, false), narrow, long, size)
		checkLarge(t, room(narrow, long*size, 1, 0, false), room(long, narrow*size, 0, 0, true), long, narrow, size)
	}
}

func TestPlaneRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "size")
		n, m := rapid.IntRange(1, 150).Draw(t, "rows"), rapid.IntRange(1, 150).Draw(t, "columns")
		gap, before, back := rapid.IntRange(0, 40), rapid.IntRange(0, 70), rapid.Bool()
		dst := room(m, n*size, gap.Draw(t, "gap"), before.Draw(t, "before"), back.Draw(t, "back"))
		src := room(n, m*size, gap.Draw(t, "gap"), before.Draw(t, "before"), back.Draw(t, "back"))
		if rapid.Bool().Draw(t, "one row for all") {
			src.Offset, src.Stride = 0, 0
		}
		check(t, rapid.SampledFrom([]func(dst, src Side, n, m, size int){Plane, plain}).Draw(t, "way"), dst, src, n, m, size)
	})
}

func FuzzPlane(f *testing.F) {
	f.Add(uint8(0), uint16(70), uint16(70), uint8(0), uint8(0), false, false)
	f.Add(uint8(2), uint16(16), uint16(9), uint8(3), uint8(65), true, false)
	f.Fuzz(func(t *testing.T, size uint8, n, m uint16, gap, before uint8, up, down bool) {
		bytes, rows, columns := 1<<(size%5), int(n%400), int(m%400)
		if rows == 0 || columns == 0 {
			Plane(Side{}, Side{}, rows, columns, bytes)
			return
		}
		dst := func() Side { return room(columns, rows*bytes, int(gap), int(before), down) }
		src := room(rows, columns*bytes, int(before), int(gap), up)
		check(t, Plane, dst(), src, rows, columns, bytes)
		check(t, plain, dst(), src, rows, columns, bytes)
	})
}

// TestPlaneOutside checks that Plane panics on rows outside of the data before it moves
// anything.
func TestPlaneOutside(t *testing.T) {
	full := func() Side { return Side{make([]byte, 64*64), 0, 64} }
	for name, bad := range map[string]func(s *Side){
		"short":    func(s *Side) { s.Data = s.Data[:64*64-1] },
		"shifted":  func(s *Side) { s.Offset = 1 },
		"wide":     func(s *Side) { s.Stride = 65 },
		"backward": func(s *Side) { s.Stride = -64 },
		"before":   func(s *Side) { s.Offset = -1 },
	} {
		for k := range 2 {
			sides := [2]Side{full(), full()}
			bad(&sides[k])
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s, side %d: no panic", name, k)
					}
				}()
				Plane(sides[0], sides[1], 64, 64, 1)
			}()
		}
	}
}

func BenchmarkPlane(b *testing.B) {
	for _, size := range []int{1, 2, 4, 8, 16} {
		for _, n := range []int{64, 1000, 1024, 4096} {
			b.Run(fmt.Sprintf("size=%d/side=%d", size, n), func(b *testing.B) {
				src, dst := Side{noise(n * n * size), 0, n * size}, Side{noise(n * n * size), 0, n * size}
				b.SetBytes(int64(n * n * size))
				for b.Loop() {
					Plane(dst, src, n, n, size)
				}
				turn, copied := clock.Beside(func() { Plane(dst, src, n, n, size) }, func() { copy(dst.Data, src.Data) }, time.Second/4)
				b.ReportMetric(float64(n*n*size)/turn.Seconds()/1e6, "best-MB/s")
				b.ReportMetric(copied.Seconds()/turn.Seconds(), "of-copy")
			})
		}
	}
}
