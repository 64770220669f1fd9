// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/binary"
	"fmt"
	"os"
)

// Numbers reads a file of rows of 64-bit integers.
func Numbers(name string, width int) ([][]int64, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("protocol: %w", err)
	}
	if width <= 0 || len(data)%(8*width) != 0 {
		return nil, fmt.Errorf("protocol: %s has %d bytes, which is not a whole number of rows of %d integers", name, len(data), width)
	}
	all := make([]int64, len(data)/8)
	for i := range all {
		all[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	rows := make([][]int64, len(all)/width)
	for i := range rows {
		rows[i] = all[i*width : (i+1)*width]
	}
	return rows, nil
}

// WriteNumbers writes such a file.
func WriteNumbers(name string, rows [][]int64) error {
	var data []byte
	for _, row := range rows {
		for _, n := range row {
			data = binary.LittleEndian.AppendUint64(data, uint64(n))
		}
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	return nil
}
