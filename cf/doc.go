// SPDX-License-Identifier: Apache-2.0

// Package cf gives stored numbers their meaning, as the CF conventions and xarray do:
// scale and offset, missing values, times, durations, and coordinates.
//
// Climate data is often stored as small integers. The attributes of an array tell what
// they stand for: scale_factor and add_offset, _FillValue and missing_value, _Unsigned,
// and units such as "hours since 1900-01-01". [ReadFloats] and [ReadTimes] return what
// the elements stand for, and [WriteFloats] stores it:
//
//	t2m, err := zarr.OpenArray(ctx, "era5.zarr/t2m", nil)
//	if err != nil {
//		return err
//	}
//	january, err := cf.Select(ctx, t2m, "time=2024-01, latitude=50..60")
//	if err != nil {
//		return err
//	}
//	kelvin, err := cf.ReadFloats(ctx, january, nil)
//
// [Select] selects by coordinate values. The coordinate of a dimension is the array with
// one axis that has the name of the dimension, in the same group or in the nearest group
// above.
//
// [DecodingOf] returns a [Decoding] for programs that read elements themselves. It gives
// every element the type that xarray gives it. [PackingOf] and [UnitsOf] tell about the
// attributes one by one.
//
// The package follows xarray 2026.9 where that and the conventions (CF 1.13) differ.
// Chunks that are not stored have the fill value of the array, which is missing only if
// an attribute tells so, or in format 2.
package cf
