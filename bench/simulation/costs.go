// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// cost is one input of the model, as costs.json has it.
type cost struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	What   string  `json:"what"`
	Source string  `json:"source"`
	Minor  bool    `json:"minor,omitempty"` // it is not in the table of docs/scale.md
}

// costs are the inputs of the model. costs.json says what each is, in which unit, and
// where it comes from. Times are in seconds, sizes in bytes.
type costs struct {
	cores, link, connection, reads, writes, records, uploads, part float64
	decode, encode, tls, task                                      float64
	latency, copy, page, gets, puts, partitions, pause             float64
	object, pair, fold, settle                                     float64
	start, launch, requeue, replace, lease, looks                  float64
	bundle, restart, life, slow, spread                            float64
	priceGet, pricePut, priceHour                                  float64
}

// fields returns the places of the inputs by their names.
func (c *costs) fields() map[string]*float64 {
	return map[string]*float64{
		"cores": &c.cores, "link": &c.link, "connection": &c.connection, "reads": &c.reads, "writes": &c.writes,
		"records": &c.records, "uploads": &c.uploads, "part": &c.part, "decode": &c.decode, "encode": &c.encode, "tls": &c.tls, "task": &c.task,
		"latency": &c.latency, "copy": &c.copy, "page": &c.page, "gets": &c.gets, "puts": &c.puts,
		"partitions": &c.partitions, "pause": &c.pause, "object": &c.object, "pair": &c.pair, "fold": &c.fold,
		"settle": &c.settle, "start": &c.start, "launch": &c.launch, "requeue": &c.requeue, "replace": &c.replace,
		"lease": &c.lease, "looks": &c.looks, "bundle": &c.bundle, "restart": &c.restart, "life": &c.life, "slow": &c.slow, "spread": &c.spread,
		"price_get": &c.priceGet, "price_put": &c.pricePut, "price_hour": &c.priceHour,
	}
}

// mayBeZero has the inputs for which 0 means that something does not happen. All others
// divide or are waited for, so they are above 0.
var mayBeZero = []string{"life", "slow", "spread", "object", "pair", "fold", "settle", "task", "launch", "price_get", "price_put", "price_hour"}

// parseCosts parses a list of inputs. Each must be there once.
func parseCosts(data []byte) (costs, []cost, error) {
	var c costs
	var list []cost
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return c, nil, fmt.Errorf("simulation: costs: %w", err)
	}
	left := c.fields()
	for _, in := range list {
		to := left[in.Name]
		switch {
		case to == nil:
			return c, nil, fmt.Errorf("simulation: costs: %q is unknown or there twice", in.Name)
		case math.IsNaN(in.Value) || in.Value < 0 || in.Value == 0 && !slices.Contains(mayBeZero, in.Name):
			return c, nil, fmt.Errorf("simulation: costs: %s may not be %g", in.Name, in.Value)
		}
		*to = in.Value
		delete(left, in.Name)
	}
	for name := range left {
		return c, nil, fmt.Errorf("simulation: costs: %s is missing", name)
	}
	return c, list, nil
}
