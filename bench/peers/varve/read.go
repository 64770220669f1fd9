// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// read returns the selected elements as bytes in host byte order.
func read(ctx context.Context, a *zarr.Array, sel selection.Selection) ([]byte, error) {
	switch a.Type() {
	case dtype.Uint8:
		return elements[uint8](ctx, a, sel)
	case dtype.Uint16:
		return elements[uint16](ctx, a, sel)
	case dtype.Float32:
		return elements[float32](ctx, a, sel)
	}
	return nil, fmt.Errorf("elements of type %v are not in the benchmarks", a.Type())
}

func elements[T uint8 | uint16 | float32](ctx context.Context, a *zarr.Array, sel selection.Selection) ([]byte, error) {
	b, err := zarr.Read[T](ctx, a, sel)
	if err != nil || len(b.Data) == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.Data[0])), len(b.Data)*int(unsafe.Sizeof(b.Data[0]))), nil
}

// one measures a single read, and then computes its checksum.
func one(ctx context.Context, r protocol.Request, sel selection.Selection) (answer protocol.Answer, err error) {
	t := protocol.Start()
	a, err := zarr.OpenArray(ctx, r.Store, options(r))
	if err != nil {
		return answer, err
	}
	data, err := read(ctx, a, sel)
	if err != nil {
		return answer, err
	}
	answer.Seconds, answer.CPU = t.Stop()
	t = protocol.Start()
	var sum protocol.Sum
	sum.Add(0, data)
	answer.Bytes, answer.Checksum = sum.Bytes(), sum.String()
	answer.Checking, _ = t.Stop()
	return answer, nil
}

func readAll(ctx context.Context, r protocol.Request) (protocol.Answer, error) {
	return one(ctx, r, nil)
}

func readPoints(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	rows, err := protocol.Numbers(r.Points, r.Rank)
	if err != nil {
		return answer, err
	}
	axes := make([][]int64, r.Rank)
	for _, row := range rows {
		for k, i := range row {
			axes[k] = append(axes[k], i)
		}
	}
	points := make(selection.Points, r.Rank)
	for k := range axes {
		points[k] = selection.Coords(axes[k]...)
	}
	return one(ctx, r, points)
}

func readRegions(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	boxes, err := regions(r)
	if err != nil {
		return answer, err
	}
	sum := protocol.Sum{Limit: r.Check}
	t := protocol.Start()
	a, err := zarr.OpenArray(ctx, r.Store, options(r))
	if err != nil {
		return answer, err
	}
	err = each(boxes, a.Type().Size(), r.Concurrency, func(i int, buffer []byte) error {
		if err := a.ReadBytes(ctx, boxes[i], buffer); err != nil {
			return err
		}
		sum.Add(i, buffer)
		return nil
	})
	answer.Seconds, answer.CPU = t.Stop()
	answer.Bytes, answer.Checksum = sum.Bytes(), sum.String()
	return answer, err
}

func openArray(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	var data []byte
	answer.Seconds, answer.CPU, err = protocol.Repeat(func() error {
		a, err := zarr.OpenArray(ctx, r.Store, options(r))
		if err != nil {
			return err
		}
		var last selection.Box
		for _, n := range a.Shape() {
			last = append(last, [2]int64{n - 1, n})
		}
		if data, err = read(ctx, a, last); err != nil {
			return err
		}
		return a.Close()
	})
	var sum protocol.Sum
	sum.Add(0, data)
	answer.Bytes, answer.Checksum = sum.Bytes(), sum.String()
	return answer, err
}

// members adds the extents of all arrays of a group.
func members(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	var total uint64
	answer.Seconds, answer.CPU, err = protocol.Repeat(func() error {
		g, err := zarr.OpenGroup(ctx, r.Store, options(r))
		if err != nil {
			return err
		}
		total = 0
		for m, err := range g.Members(ctx, true) {
			if err != nil {
				return err
			}
			if a, ok := m.Node.(*zarr.Array); ok {
				for _, n := range a.Shape() {
					total += uint64(n)
				}
			}
		}
		return g.Close()
	})
	var sum protocol.Sum
	sum.Add(0, binary.LittleEndian.AppendUint64(nil, total))
	answer.Checksum = sum.String()
	return answer, err
}
