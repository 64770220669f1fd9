// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// keyConnections is the number of connections that ask for stored keys.
const keyConnections = 8

// keyRow is how fast the servers answer with keys of one size.
type keyRow struct {
	Size    string
	Bytes   int64
	Results []*keyResult
}

// keyResult is one server of a row: its seconds for all requests of each round, and its
// processor time.
type keyResult struct {
	Server   string
	Requests int
	Seconds  []float64
	Worked   []float64
}

// keys measures stored keys, with the servers in turns.
func (b *bench) keys(ctx context.Context) error {
	servers, names, err := b.keyServers(ctx)
	if err != nil {
		return err
	}
	for i, s := range servers {
		if names[i] == "nginx" {
			defer s.stopNginx()
		} else {
			defer s.stop()
		}
	}
	for _, size := range keySizes {
		row := &keyRow{Size: size.name, Bytes: size.bytes}
		for _, name := range names {
			row.Results = append(row.Results, &keyResult{Server: name, Requests: size.asked})
		}
		for round := range b.rounds + 1 { // the first one does not count
			for k := range servers {
				at := (k + round) % len(servers)
				s, r := servers[at], row.Results[at]
				paths := make([]string, size.asked)
				for i := range paths {
					paths[i] = fmt.Sprintf("/%s/%s/c/%d", node, keyArray(size), int64(i)%size.keys)
				}
				before := s.worked()
				seconds, bytes, _, err := all(ctx, s.address, keyConnections, paths)
				if err != nil {
					return fmt.Errorf("%s: %w", r.Server, err)
				}
				if bytes != int64(size.asked)*size.bytes {
					return fmt.Errorf("%s: %d bytes", r.Server, bytes)
				}
				if round > 0 {
					r.Seconds, r.Worked = append(r.Seconds, seconds), append(r.Worked, s.worked()-before)
				}
			}
		}
		b.report.Keys = append(b.report.Keys, row)
	}
	return nil
}

// keyServers starts the servers of stored keys, varve first.
func (b *bench) keyServers(ctx context.Context) (servers []*server, names []string, err error) {
	own, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	v, err := b.startVarve(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, err := start(ctx, own, "-files", b.dir)
	if err != nil {
		return nil, nil, err
	}
	servers, names = []*server{v, f}, []string{"varve serve", "http.FileServer"}
	program, err := exec.LookPath("nginx")
	if err != nil {
		b.report.Missing = append(b.report.Missing, "nginx")
		return servers, names, nil
	}
	n, err := startNginx(ctx, program, b.dir)
	if err != nil {
		return nil, nil, err
	}
	return append(servers, n), append(names, "nginx"), nil
}

// startVarve starts varve serve for the group.
func (b *bench) startVarve(ctx context.Context) (*server, error) {
	return start(ctx, b.varve, "serve", node+"="+b.dir+"/"+node, "--listen", "127.0.0.1:0")
}
