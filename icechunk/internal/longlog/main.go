// SPDX-License-Identifier: Apache-2.0

// Command longlog writes the object repo of a repository with a long history, for
// measurements: the snapshots that it names do not exist.
//
//	longlog FOLDER SNAPSHOTS
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "longlog:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: longlog FOLDER SNAPSHOTS")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &format.Repository{Version: 2, Updates: []format.Update{{Kind: format.RepositoryInitialized, Time: begin}}}
	for i := range n {
		s := format.SnapshotInfo{Parent: i - 1, Time: begin.Add(time.Duration(i) * time.Minute), Message: fmt.Sprintf("day %d of the measurements of a station", i)}
		binary.BigEndian.PutUint64(s.ID[:], uint64(i)) // in the order of snapshots
		r.Snapshots = append(r.Snapshots, s)
	}
	r.Branches = []format.Reference{{Name: "main", Snapshot: n - 1}}
	data, err := format.Seal("longlog", format.KindRepository, r.Encode())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(args[1], 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(args[1], "repo"), data, 0o644)
}
