"""Import modules by the names they had in version 0.1, for old pickles and packages.

Importing an old name gives the module of the new name, with a DeprecationWarning. The next release
removes this file.
"""

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Old and new module names, relative to the package, one pair per line.
_NAMES = """
batch.code batch.code_hash
batch.contract batch.problem_files.base
batch.executors batch.workers.executors
batch.instances batch.export_problems
batch.judging batch.recertify
batch.logs batch.workers.run_log
batch.measuring batch.run_results
batch.memory batch.workers.attempts
batch.merging batch.store.merge
batch.method_file batch.problem_files.load
batch.own_file batch.problem_files.custom
batch.pool batch.workers.pool
batch.problem_file batch.problem_files.load
batch.rehearsal batch.preparation
batch.schema batch.store.schema
batch.shards batch.store.shards
batch.sqlite_file batch.store.sqlite_file
batch.starting batch.workers.attempts
batch.statements batch.preparation
batch.telling batch.solver_options
batch.threads batch.workers.attempts
cli.batch cli.solve
cli.select_targets cli.select_outputs
cli.study cli.compare
compiling kernels
data.annotated data.readers.anndata_plink
data.checks data.validation
data.column_checks data.column_ranges
data.columns data.out_of_core
data.files data.readers.files
data.holes data.dataset
data.kinds data.categorical
data.labels data.readers.label_file
data.limits data.readers.memory_limit
data.making data.build
data.market data.readers.matrix_market
data.matlab data.readers.matlab
data.names data.readers.options
data.packed data.readers.text
data.ranges data.column_ranges
data.reading data.readers.options
data.scaling data.dataset
data.separated data.readers.text
data.sizes data.readers.memory_estimate
data.spec_words data.specs
data.synthetic data.generators
data.tables data.readers.table
formats.program formats.instance
formats.stating formats.to_cvxpy
inference.curve inference.selection_curves
inference.fitted inference.selector_tests
inference.held_out inference.cross_validation
inference.permutation inference.permutation_tests
inference.pictures report.inference_pictures
inspection.canonical inspection.report
inspection.difference inspection.comparison
inspection.families inspection.parse
inspection.notation inspection.layout
inspection.page inspection.document
inspection.readers inspection.atoms
inspection.reading inspection.parse
inspection.styles inspection.writers
methods.base.changed estimators.custom_formulation
methods.base.columns estimators.selector
methods.base.held estimators.training_cache
methods.base.margins estimators.margin_test
methods.base.mixed estimators.selector
methods.base.null inference.selector_tests
methods.base.own methods.base.formulation
methods.base.parameters methods.base.formulation
methods.base.permutation inference.label_permutations
methods.base.projection estimators.projection
methods.base.ranked estimators.ranking
methods.base.regressor estimators.regression
methods.base.selector estimators.selector
methods.base.step methods.base.solve_step
methods.base.taking estimators.validation
methods.base.weighted estimators.sample_weight
methods.knockoffs.definite methods.knockoffs.native
methods.llfs.exact methods.llfs.rounding
methods.llfs.kernels methods.llfs.native.kernels
methods.llfs.linear methods.llfs.native.linear_program
methods.llfs.newton methods.llfs.native.newton
methods.llfs.path methods.llfs.native.local_path
methods.llfs.relaxed methods.llfs.relaxation
methods.llfs.repair methods.llfs.backend.line_search
methods.llfs.road methods.llfs.backend.path
methods.llfs.road_point methods.llfs.backend.point
methods.llfs.road_programs methods.llfs.backend.subproblems
methods.llfs.road_separation methods.llfs.backend.separation
methods.llfs.samples methods.llfs.fit
methods.llfs.spheres methods.llfs.hyperspheres
methods.llfs.stages methods.llfs.stage_problems
methods.llfs.stated methods.llfs.backend.custom
methods.llfs.stored methods.llfs.from_run
methods.lmba.kinks methods.lmba.interior_point
methods.logo.certified methods.logo.fixed_points.candidate_features
methods.logo.classification methods.logo.estimator
methods.logo.equilibrium methods.logo.fixed_points.complementarity
methods.logo.fixed_point methods.base.fixed_point
methods.logo.locality methods.logo.margins
methods.logo.mixed_locality methods.logo.margins
methods.logo.null_price methods.logo.margins
methods.logo.objective methods.logo.newton
methods.logo.paper methods.logo.fixed_points.algorithm1
methods.logo.request methods.logo.settings
methods.logo.solvers methods.logo.changed_step
methods.rlogo methods.logo_regression
methods.rlogo.estimator methods.logo_regression.estimator
methods.rlogo.fit methods.logo_regression.fit
methods.rlogo.numbers methods.logo_regression.numbers
methods.rlogo.prediction methods.logo_regression.estimator
methods.rrelief methods.relief_regression
methods.rrelief.estimator methods.relief_regression.estimator
methods.rrelief.fit methods.relief_regression.fit
methods.rrelief.numbers methods.relief_regression.numbers
neighbors.bits neighbors.bitpacked
neighbors.by_columns neighbors.out_of_core
neighbors.counted neighbors.sample_weight
neighbors.dense neighbors.distances
neighbors.difference_kernels neighbors.kernels.missing_sums
neighbors.difference_slopes neighbors.missing_gradients
neighbors.differences neighbors.missing_values
neighbors.distance_kernels neighbors.kernels.distance_sums
neighbors.feature_kernels neighbors.kernels.feature_sums
neighbors.feature_passes neighbors.feature_blocks
neighbors.new_samples neighbors.queries
neighbors.soft_targets neighbors.regression
neighbors.sparse_kernels neighbors.kernels.sparse_sums
neighbors.sparse_samples neighbors.sparse
pictures report.pictures
selection.asking selection.select_function
selection.differences selection.effect_sizes
selection.fitting selection.fit_by_name
selection.judging selection.rules
selection.wording selection.methods_text
solving.branching certification.branch_and_bound
solving.certify certification.certify
solving.claims certification.certify
solving.compiled solving.parametrized
solving.cone_program certification.program.cone_program
solving.cones certification.program.cones
solving.dual_bound certification.duals.dual_bound
solving.feasibility certification.feasibility
solving.infeasibility certification.infeasibility
solving.multipliers certification.duals.multiplier_search
solving.optimality certification.optimality
solving.quasiconvex certification.quasiconvex
solving.rules solving.dcp_rules
solving.search certification.auxiliary
solving.solver_row solving.backend
solving.standard_form certification.program.standard_form
solving.statement certification.convex_form
solving.unboundedness certification.unboundedness
solving.units certification.program.scaling
study.achieved study.time_to_accuracy
study.figure_files report.export
study.judging study.outcome_rules
study.page.files report.page
study.points study.llfs_points
study.profiles study.summary
study.repeat study.rerun
study.table_files report.export
"""
FORMER = {
    f"convexfs.{old}": f"convexfs.{new}" for old, new in map(str.split, _NAMES.split("\n")[1:-1])
}


class _FormerModule(ModuleType):
    """Module of an old name, whose attributes are those of the module of the new name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # its own path and loader are not those of the new module
            raise AttributeError(name)
        return getattr(importlib.import_module(FORMER[self.__name__]), name)


class _FormerNames(MetaPathFinder, Loader):
    """Import finder and loader of old module names, used after all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        return None if fullname not in FORMER else ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _FormerModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        new = FORMER[module.__name__]
        warnings.warn(
            f"{module.__name__} is {new} now; the old name goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )


def install() -> None:
    """Add the finder of old module names to sys.meta_path, once."""
    if not any(isinstance(finder, _FormerNames) for finder in sys.meta_path):
        sys.meta_path.append(_FormerNames())
