"""Full references of the publications that a methods section cites."""

from collections.abc import Iterable

#: Full references by the authors' names, as sentences cite them.
REFERENCES = {
    "Armanfard, Reilly and Komeili": "Armanfard N, Reilly JP, Komeili M (2018). Logistic localized "
    "modeling of the sample space for feature selection and classification. IEEE Transactions on "
    "Neural Networks and Learning Systems 29, 1396-1413.",
    "Benjamini and Bogomolov": "Benjamini Y, Bogomolov M (2014). Selective inference on multiple "
    "families of hypotheses. Journal of the Royal Statistical Society B 76, 297-318.",
    "Benjamini and Hochberg": "Benjamini Y, Hochberg Y (1995). Controlling the false discovery "
    "rate: a practical and powerful approach to multiple testing. Journal of the Royal "
    "Statistical Society B 57, 289-300.",
    "Blanchard, Neuvial and Roquain": "Blanchard G, Neuvial P, Roquain E (2020). Post hoc "
    "confidence bounds on false positives using reference families. Annals of Statistics 48, "
    "1281-1303.",
    "Candès, Fan, Janson and Lv": "Candès E, Fan Y, Janson L, Lv J (2018). Panning for gold: "
    "'model-X' knockoffs for high dimensional controlled variable selection. Journal of the Royal "
    "Statistical Society B 80, 551-577.",
    "Gilad-Bachrach, Navot and Tishby": "Gilad-Bachrach R, Navot A, Tishby N (2004). Margin based "
    "feature selection: theory and algorithms. International Conference on Machine Learning.",
    "Kursa and Rudnicki": "Kursa MB, Rudnicki WR (2010). Feature selection with the Boruta "
    "package. Journal of Statistical Software 36(11).",
    "Li and Lu": "Li Y, Lu BL (2009). Feature selection based on loss-margin of nearest neighbor "
    "classification. Pattern Recognition 42, 1914-1921.",
    "Robnik-Šikonja and Kononenko": "Robnik-Šikonja M, Kononenko I (2003). Theoretical and "
    "empirical analysis of ReliefF and RReliefF. Machine Learning 53, 23-69.",
    "Shah and Samworth": "Shah RD, Samworth RJ (2013). Variable selection with error control: "
    "another look at stability selection. Journal of the Royal Statistical Society B 75, 55-80.",
    "Sun 2007": "Sun Y (2007). Iterative RELIEF for feature weighting: algorithms, theories, and "
    "applications. IEEE Transactions on Pattern Analysis and Machine Intelligence 29, 1035-1051.",
    "Sun and Wu": "Sun Y, Wu D (2009). Feature extraction through local learning. Statistical "
    "Analysis and Data Mining 2, 34-47.",
    "Sun, Todorovic and Goodison": "Sun Y, Todorovic S, Goodison S (2010). Local-learning-based "
    "feature selection for high-dimensional data analysis. IEEE Transactions on Pattern Analysis "
    "and Machine Intelligence 32, 1610-1626.",
    "Tsamardinos et al.": "Tsamardinos I, Greasidou E, Borboudakis G (2018). Bootstrapping the "
    "out-of-sample predictions for efficient and accurate cross-validation. Machine Learning 107, "
    "1895-1922.",
    "Westfall and Young": "Westfall PH, Young SS (1993). Resampling-based multiple testing. Wiley.",
}


def references(text: str) -> Iterable[str]:
    """Return the full references of all citations in a text, sorted by author."""
    return [full for cited, full in REFERENCES.items() if cited in text]
