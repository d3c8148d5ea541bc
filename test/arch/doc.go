// Package arch holds no code: its tests keep the rules of the design that no
// compiler knows, over every Go file of the module.
package arch
