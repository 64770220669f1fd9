// SPDX-License-Identifier: Apache-2.0

package page

import "context"

// storedFacts is what is stored of an array.
type storedFacts struct {
	Bytes    int64 `json:"bytes"`
	Chunks   int64 `json:"chunks"`
	Cells    int64 `json:"cells"`
	Complete bool  `json:"complete"`
}

// statisticsFacts is what is known of the elements.
type statisticsFacts struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Missing  int64   `json:"missing"`
	Complete bool    `json:"complete"`
}

type lists struct{}

func (a *array) addHoldings(ctx context.Context, f *arrayFacts) error { return ctx.Err() }
