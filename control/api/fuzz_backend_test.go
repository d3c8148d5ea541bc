package api

import (
	"context"
	"iter"
	"net/netip"
)

// empty is the Backend of a router that has nothing.
type empty struct{}

func (empty) Status(context.Context) (Status, error)       { return Status{}, nil }
func (empty) FIBCounts(context.Context) (FIBCounts, error) { return FIBCounts{}, nil }
func (empty) FIB(context.Context, FIBQuery) iter.Seq2[FIBEntry, error] {
	return func(yield func(FIBEntry, error) bool) {
		yield(FIBEntry{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, nil)
	}
}
func (empty) Routes(context.Context, RouteQuery) iter.Seq2[Route, error] {
	return func(func(Route, error) bool) {}
}
func (empty) BGP(context.Context) (BGP, error)              { return BGP{}, nil }
func (empty) Ports(context.Context) ([]Port, error)         { return nil, nil }
func (empty) Neighbors(context.Context) ([]Neighbor, error) { return nil, nil }
func (empty) Drops(context.Context) ([]Drop, error)         { return nil, nil }
func (empty) Config(context.Context) (Config, error)        { return Config{}, nil }
func (empty) PlanConfig(context.Context, ConfigSource) (ConfigPlan, error) {
	return ConfigPlan{}, nil
}
func (empty) ApplyConfig(context.Context, ConfigSource, string) (ConfigApplied, error) {
	return ConfigApplied{}, nil
}
