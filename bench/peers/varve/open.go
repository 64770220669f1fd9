// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/selection"
)

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
