/** @import { Texts } from "../../types.d.ts" */

/** @type {Texts<typeof import("./forms.en.js").en>} */
export const it = {
  form: {
    title: "Nuova notifica", bucket: "Bucket", template: "Modello", noTemplate: "Nessuno", heading: "Titolo", subtitle: "Sottotitolo",
    body: "Testo", priority: "Priorità", deliver: "Consegna alle", deliverHint: "Vuoto: subito", attachment: "Link a un’immagine o un file",
    send: "Pubblica", schedule: "Programma", sent: "Pubblicata", scheduled: (time = "") => `Programmata per ${time}`, name: "Nome",
    create: "Crea", noBucket: "Crea prima un bucket.",
  },
  snoozes: { hour: "Tra un’ora", evening: "Stasera", morning: "Domani mattina", other: "Un altro orario" },
  quietTexts: {
    explanation: "Durante le ore di silenzio le notifiche sono trattenute. Quelle critiche no.",
    zone: (zone = "") => `Gli orari sono in ${zone}.`, none: "Non ci sono ore di silenzio.", add: "Aggiungi una fascia", days: "Giorni",
    from: "Dalle", to: "Alle", saved: "Ore di silenzio salvate", remove: (window = "") => `Togli ${window}`, windows: "Fasce",
    everyDay: "Ogni giorno", day: "Giorno", hours: "Silenzio",
  },
};
