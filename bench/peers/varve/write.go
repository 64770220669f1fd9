// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
)

func copyAll(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	boxes, err := regions(r)
	if err != nil {
		return answer, err
	}
	var sum protocol.Sum
	sum.Limit = 1
	t := protocol.Start()
	from, err := zarr.OpenArray(ctx, r.Store, options(r))
	if err != nil {
		return answer, err
	}
	to, err := zarr.OpenArray(ctx, r.Target, writing(r))
	if err != nil {
		return answer, err
	}
	err = each(boxes, from.Type().Size(), r.Concurrency, func(i int, buffer []byte) error {
		if err := from.ReadBytes(ctx, boxes[i], buffer); err != nil {
			return err
		}
		sum.Add(i, buffer)
		return to.WriteBytes(ctx, boxes[i], buffer)
	})
	answer.Seconds, answer.CPU = t.Stop()
	answer.Bytes = sum.Bytes()
	return answer, err
}

// appendPlanes appends planes of float32 whose elements are all the number of the plane.
func appendPlanes(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	t := protocol.Start()
	a, err := zarr.OpenArray(ctx, r.Target, writing(r))
	if err != nil {
		return answer, err
	}
	shape := a.Shape()
	plane := make([]byte, 4*shape[1]*shape[2])
	for i := range int64(r.Count) {
		bits := math.Float32bits(float32(shape[0] + i))
		for k := 0; k < len(plane); k += 4 {
			binary.NativeEndian.PutUint32(plane[k:], bits)
		}
		if err := a.AppendBytes(ctx, 0, plane, nil); err != nil {
			return answer, err
		}
	}
	answer.Seconds, answer.CPU = t.Stop()
	answer.Bytes = int64(r.Count) * int64(len(plane))
	return answer, nil
}
