// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rechunk"
)

// prices are what requests and bytes cost, as the file of --prices has it.
type prices struct {
	Currency string             `json:"currency"`
	Requests map[string]float64 `json:"per_1000_requests"`
	Read     float64            `json:"per_gib_read"`
}

// cost is what a plan costs.
type cost struct {
	Currency string  `json:"currency"`
	Requests float64 `json:"requests"`
	Read     float64 `json:"read"`
	Total    float64 `json:"total"`
}

// pricesFlag adds the flag --prices.
func pricesFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "prices", "", "say what the plan costs, given a `FILE` of prices")
}

// readPrices reads the file of --prices, if it is given.
func readPrices(cmd *cobra.Command, file string) (*prices, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := localfile.ReadAll(cmd, file)
	if err != nil {
		return nil, err
	}
	p := new(prices)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, failure.BadArgument("--prices %s: %w", file, err)
	}
	known := requestsOf(rechunk.Requests{})
	for kind, price := range p.Requests {
		if _, ok := known[kind]; !ok || price < 0 {
			return nil, failure.BadArgument("--prices %s: per_1000_requests has %q: %g; the kinds are get, head, put, copy and list", file, kind, price)
		}
	}
	return p, nil
}

// of returns what a plan costs.
func (p *prices) of(plan *rechunk.Plan) *cost {
	if p == nil {
		return nil
	}
	return p.cost(requestsOf(plan.Requests), plan.BytesRead)
}

// cost returns what requests and reading bytes cost, or nil if p is nil.
func (p *prices) cost(requests map[string]int64, read int64) *cost {
	if p == nil {
		return nil
	}
	c := &cost{Currency: p.Currency, Read: p.Read * float64(read) / (1 << 30)}
	for kind, n := range requests {
		c.Requests += p.Requests[kind] * float64(n) / 1000
	}
	c.Total = c.Requests + c.Read
	return c
}

// requestsOf returns requests by the names of their kinds.
func requestsOf(r rechunk.Requests) map[string]int64 {
	return map[string]int64{"get": r.Get, "head": r.Head, "put": r.Put, "copy": r.Copy, "list": r.List}
}

// print prints what the plan of an array costs.
func (c *cost) print(cmd *cobra.Command) error {
	if c == nil || session.WantsJSON(cmd) {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "  cost: %.4g %s (requests %.4g, bytes read %.4g)\n", c.Total, c.Currency, c.Requests, c.Read)
	return err
}
